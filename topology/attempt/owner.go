package attempt

import (
	"archive/tar"
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/runnerhub/runnerhub/topology"
)

// maxAccounts bounds what is read of an image's list of users or groups, in bytes.
const maxAccounts = 1 << 20

// owner is whom the files of a workspace belong to.
type owner struct{ uid, gid int }

// owner finds the ids of a user as images and specs name it (name or id, and
// ":group" if need be) in the container's own lists. A name that is in neither is
// root's, and the engine's to refuse when it starts the container.
func (x *execution) owner(ctx context.Context, container, user string) (owner, error) {
	name, group, withGroup := strings.Cut(user, ":")
	if name == "" || !withGroup && (name == "0" || name == "root") {
		return owner{}, nil
	}
	var out owner
	uid, err := strconv.Atoi(name)
	if numeric := err == nil; numeric && withGroup {
		out.uid = uid
	} else {
		passwd, err := x.readFile(ctx, container, "/etc/passwd")
		if err != nil {
			return owner{}, err
		}
		out = account(passwd, name)
		if numeric {
			out.uid = uid
		}
	}
	if !withGroup {
		return out, nil
	}
	if gid, err := strconv.Atoi(group); err == nil {
		out.gid = gid
		return out, nil
	}
	groups, err := x.readFile(ctx, container, "/etc/group")
	out.gid = account(groups, group).uid
	return out, err
}

// account finds a line of passwd or group by its name or its id: both have them in
// the first and the third field. Of a group only uid has a meaning.
func account(list, who string) owner {
	lines := bufio.NewScanner(strings.NewReader(list))
	for lines.Scan() {
		field := strings.Split(lines.Text(), ":")
		if len(field) < 4 || field[0] != who && field[2] != who {
			continue
		}
		uid, err := strconv.Atoi(field[2])
		if err != nil {
			continue
		}
		gid, _ := strconv.Atoi(field[3]) // of a group it is the list of members
		return owner{uid, gid}
	}
	return owner{}
}

// readFile returns a file of a container, "" where there is none: an image made
// from nothing has no users by name.
func (x *execution) readFile(ctx context.Context, container, name string) (string, error) {
	stream, err := x.e.engine.CopyFrom(ctx, container, name)
	if topology.KindOf(err) == topology.KindNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer stream.Close()
	archive := tar.NewReader(stream)
	header, err := archive.Next()
	if err != nil || header.Typeflag != tar.TypeReg {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(archive, maxAccounts))
	return string(data), err
}
