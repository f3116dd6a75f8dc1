package host

import (
	"encoding/json"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// order is what a supervisor is told to run. It is the first that it reads; what follows are further
// orders (killOrder), and the end of the stream says that the runner is gone.
type order struct {
	Argv, Env []string
	Dir       string
	User      account
	Join      []string // files of control groups that a process writes itself into
	Limits    []limit
	CPUs      int // processors to run on; 0 is all
	// Group has the folders of the control groups that are the command's alone, and end with it. A command
	// that runs beside the main one of a container has none.
	Group []string
}

// killOrder makes a supervisor kill all that its command has started.
const killOrder = "kill"

// limit is one of the kernel's for each process. soft and hard are its own words for none.
type limit struct {
	Name       string // of the spec, for messages
	Resource   int
	Soft, Hard uint64
}

// news is what a supervisor tells: first that its command has begun or cannot, then how all ended.
type news struct {
	PID     int                `json:",omitempty"`
	Failed  string             `json:",omitempty"` // why it cannot
	Kind    topology.ErrorKind `json:",omitempty"` // of the failure
	Ended   bool               `json:",omitempty"`
	Code    int                `json:",omitempty"` // 128+N where signal N ended it
	CPU     time.Duration      `json:",omitempty"` // of all processes
	MaxRSS  int64              `json:",omitempty"` // bytes; of the largest process
	Undying int                `json:",omitempty"` // processes that could not be killed
}

// Helper is to be called at the beginning of a program that runs jobs by this package. Where the program
// was started by the package, to stand between the runner and a job, it does that; then the program is to exit with code.
func Helper() (code int, was bool) {
	if len(os.Args) == 0 {
		return 0, false
	}
	switch os.Args[0] {
	case supervisorName:
		return supervise(os.NewFile(3, "orders"), os.NewFile(4, "news")), true
	case launcherName:
		launch(os.NewFile(3, "order"), os.NewFile(4, "failure"))
		return 1, true
	}
	return 0, false
}

// tell writes news, or nothing where nobody hears them any more.
func tell(to *os.File, n news) {
	data, err := json.Marshal(n)
	if err == nil {
		_, _ = to.Write(append(data, '\n'))
	}
}

// failure is the news of a command that cannot begin.
func failure(op string, err error) news {
	n := news{Failed: op + ": " + err.Error(), Kind: topology.KindOther}
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.ENOTDIR):
		n.Kind = topology.KindCommand
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EINVAL):
		n.Kind = topology.KindInvalid
	}
	return n
}
