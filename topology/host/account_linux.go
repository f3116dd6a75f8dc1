package host

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/runnerhub/runnerhub/topology"
)

// account is the user that a job runs as.
type account struct {
	Name     string
	UID, GID int
	Groups   []int
	Switch   bool // it is not the runner's own, and files are given to it
}

// account finds the user that jobs run as now. The superuser runs none unless the
// machine's owner has named a user, be it the superuser itself.
func (e *Engine) account() (account, error) {
	const op = "choose the user that the job runs as"
	name, err := e.user()
	if err != nil {
		return account{}, fault(op, err)
	}
	self := os.Geteuid()
	var u *user.User
	switch {
	case name != "":
		u, err = user.Lookup(name)
	case self == 0:
		return account{}, &topology.EngineError{
			Kind: topology.KindDenied, Op: op, Err: errors.New("the runner is root, and its owner has named no other user (rule host_user)"),
			Hint: "Run the runner as a user of its own, or name one on its machine with `runnerctl policy set host_user=NAME`.",
		}
	default:
		u, err = user.LookupId(strconv.Itoa(self))
		if _, unknown := errors.AsType[user.UnknownUserIdError](err); unknown { // a number is enough to run
			u, err = &user.User{Uid: strconv.Itoa(self), Gid: strconv.Itoa(os.Getegid()), Username: strconv.Itoa(self)}, nil
		}
	}
	if err != nil {
		return account{}, faultf(topology.KindDenied, op, "%w (rule host_user)", err)
	}
	a := account{Name: u.Username}
	if a.UID, err = strconv.Atoi(u.Uid); err == nil {
		a.GID, err = strconv.Atoi(u.Gid)
	}
	if err != nil {
		return account{}, fault(op, err)
	}
	if a.UID == self {
		return a, nil
	}
	if self != 0 {
		return account{}, faultf(topology.KindDenied, op, "the owner wants jobs to run as %s (rule host_user), and only root can run them as another user", name)
	}
	a.Switch = true
	ids, err := u.GroupIds()
	if err != nil {
		return account{}, fault(op, err)
	}
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			a.Groups = append(a.Groups, n)
		}
	}
	return a, e.reachable(a)
}

// reachable says whether the user can get to the folder of the attempts. Only the runner's own
// folder is made so that it can; what it is in is for the machine's owner to open.
func (e *Engine) reachable(a account) error {
	for dir := filepath.Dir(e.dir); ; dir = filepath.Dir(dir) {
		var s unix.Stat_t
		err := unix.Stat(dir, &s)
		if errors.Is(err, os.ErrNotExist) {
			continue // it is made later, and opened then
		}
		if err != nil {
			return fault("look at "+dir, err)
		}
		mode := s.Mode & 0o001
		switch {
		case int(s.Uid) == a.UID:
			mode = s.Mode & 0o100
		case int(s.Gid) == a.GID:
			mode = s.Mode & 0o010
		}
		if mode == 0 {
			return &topology.EngineError{
				Kind: topology.KindDenied, Op: "run a job as " + a.Name, Err: fmt.Errorf("this user cannot enter %s, which the runner's state folder is in", dir),
				Hint: "Open it with `chmod o+x " + dir + "`, or start the runner with another XDG_STATE_HOME, such as /var/lib.",
			}
		}
		if dir == "/" {
			return nil
		}
	}
}
