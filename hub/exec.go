package hub

import (
	"bytes"
	"time"
)

// ExecIDPrefix begins the id of an Exec.
const ExecIDPrefix = "exe_"

// ExecKind is what is asked of the containers of a live attempt.
type ExecKind string

// The kinds of requests.
const (
	ExecRun     ExecKind = "run"     // run a command
	ExecPut     ExecKind = "put"     // unpack a tar archive
	ExecGet     ExecKind = "get"     // pack a file or folder
	ExecRelease ExecKind = "release" // end the hold
	ExecFinish  ExecKind = "finish"  // end the session
)

// ExecState is where a request is in its life.
type ExecState string

// The states of a request: (filling →) parked → running → ended.
const (
	ExecFilling ExecState = "filling" // its input is still on its way to the hub
	ExecParked  ExecState = "parked"  // it waits for the runner's next word
	ExecRunning ExecState = "running" // the runner has begun, which it can do once
	ExecEnded   ExecState = "ended"
)

// How a request ended.
const (
	ExecExited   = "exited"    // the command ended by itself, or the copy is whole
	ExecFailed   = "failed"    // it could not be begun or went wrong
	ExecTimedOut = "timed_out" // it was ended at its time limit
	ExecStopped  = "stopped"   // a caller ended it
	ExecLost     = "lost"      // its runner or the job ended first; it may have been begun
)

// The clocks of requests.
const (
	ExecParkLimit = time.Minute      // a runner that has not begun within this is taken to be away
	ExecMargin    = 30 * time.Second // between the time limit that the runner keeps and the hub's own
	ExecKept      = 10 * time.Minute // an ended request is forgotten this long after its end, with its output
)

// Exec is one request to reach into the containers of a live attempt. It is carried out at most once: a runner says that it
// begins, with a word of its own choice, and who comes with another word is refused.
type Exec struct {
	ID       string
	JobID    string
	Attempt  int
	Kind     ExecKind
	State    ExecState
	Revision int64  // grows with every write; the guard of all of them
	By       string // user id of who asked
	Order    ExecOrder
	Timeout  time.Duration
	Limit    int64 // bytes of output that are taken

	InputTotal int64 // bytes that were announced
	Input      int64 // bytes that are there
	Stdout     int64 // bytes received, of a get the archive's
	Stderr     int64

	Claim  []byte // SHA-256 of the word that the runner began with
	StopAt time.Time
	End    *ExecEnd

	CreatedAt time.Time
	ExpiresAt time.Time // of an open request its latest end, of an ended one when it is forgotten
}

// ExecOrder is what a runner is asked to do.
type ExecOrder struct {
	Service    string // "" is the job's own container
	Command    []string
	Env        map[string]string
	User       string
	WorkingDir string
	Path       string // of a copy
}

// ExecEnd is what a request came to.
type ExecEnd struct {
	Status    string
	ExitCode  *int
	Message   string // why it did not exit by itself
	Truncated bool   // there was more output than was taken
	At        time.Time
}

// Open says whether the request has not ended.
func (x Exec) Open() bool { return x.State != ExecEnded }

// Enterable says whether a request of a kind may be made of a job: one that is held, or that runs and says that it may.
func Enterable(j Job, p JobPayload, k ExecKind) error {
	switch {
	case j.State.Ended():
		return Errorf(AlreadySettled, "the job has ended: %s", j.State).
			WithHint(`run it again with retry_job and changes {"hold_on_failure": "10m"}: its containers then stay up after a failure`)
	case j.State != JobRunning:
		return Errorf(Conflict, "the job is %s and has no containers yet", j.State).WithHint("follow it with wait_job")
	case j.Held != nil:
		return nil
	case k == ExecRelease:
		return Errorf(Conflict, "the job is not held: it runs").WithHint("end it with cancel_job")
	case p.Exec:
		return nil
	}
	return Errorf(Conflict, "the job runs, and its spec does not allow to reach into it").
		WithHint("submit it with `kind: session` or `exec: true` in the spec, or with hold_on_failure for when it fails")
}

// NewExec is a request as it is stored first.
func NewExec(x Exec, now time.Time) Exec {
	x.State, x.Revision, x.CreatedAt = ExecParked, 1, now
	x.ExpiresAt = now.Add(ExecParkLimit)
	if x.Input < x.InputTotal {
		x.State, x.ExpiresAt = ExecFilling, now.Add(ExecKept)
	}
	return x
}

// Fill takes n bytes of input at an offset. AlreadySettled once the request is not filling any more.
func (x Exec) Fill(offset, n int64, now time.Time) (Exec, error) {
	switch {
	case x.State != ExecFilling:
		return x, Errorf(AlreadySettled, "the request takes no input any more: it is %s", x.State)
	case offset != x.Input:
		return x, nextOffset(x.Input, offset)
	case offset+n > x.InputTotal:
		return x, Errorf(TooLarge, "%d bytes were announced, and these end at %d", x.InputTotal, offset+n)
	}
	x.Revision++
	x.Input += n
	x.ExpiresAt = now.Add(ExecKept)
	if x.Input == x.InputTotal {
		x.State, x.ExpiresAt = ExecParked, now.Add(ExecParkLimit)
	}
	return x, nil
}

// Begin lets a runner carry the request out; unchanged when it is the same runner's word again.
func (x Exec) Begin(claim []byte, now time.Time) (next Exec, changed bool, err error) {
	switch {
	case x.State == ExecRunning && bytes.Equal(claim, x.Claim):
		return x, false, nil
	case x.State != ExecParked:
		return x, false, Errorf(AlreadySettled, "the request is %s", x.State).WithHint("leave it alone")
	}
	x.Revision++
	x.State, x.Claim, x.ExpiresAt = ExecRunning, claim, now.Add(x.Timeout+ExecMargin)
	return x, true, nil
}

// Received counts n bytes of output at an offset of a stream.
func (x Exec) Received(stderr bool, offset, n int64) (Exec, error) {
	have := &x.Stdout
	if stderr {
		have = &x.Stderr
	}
	switch {
	case x.State != ExecRunning:
		return x, Errorf(AlreadySettled, "the request is %s and takes no output", x.State).WithHint("end what it runs")
	case offset != *have:
		return x, nextOffset(*have, offset)
	case x.Stdout+x.Stderr+n > x.Limit:
		return x, Errorf(TooLarge, "the request takes %d bytes of output", x.Limit).WithHint("drop the rest and say so at its end")
	}
	x.Revision++
	*have += n
	return x, nil
}

func nextOffset(have, offset int64) error {
	return Errorf(Conflict, "%d bytes are there, and these start at %d", have, offset).
		WithHint("send from next_offset").WithDetail("next_offset", have)
}

// Finish ends the request as its runner says; unchanged when it has ended.
func (x Exec) Finish(claim []byte, e ExecEnd, now time.Time) (next Exec, changed bool, err error) {
	switch {
	case x.State == ExecEnded && bytes.Equal(claim, x.Claim):
		return x, false, nil
	case x.State != ExecRunning || !bytes.Equal(claim, x.Claim):
		return x, false, Errorf(AlreadySettled, "the request is %s, and not by this runner's word", x.State)
	}
	return x.ended(e, now), true, nil
}

// Stop ends a request that has not begun, and asks the runner to end one that has.
func (x Exec) Stop(now time.Time) (next Exec, changed bool) {
	switch {
	case x.State == ExecEnded || !x.StopAt.IsZero():
		return x, false
	case x.State == ExecRunning:
		x.Revision++
		x.StopAt = now
		return x, true
	}
	return x.ended(ExecEnd{Status: ExecStopped, Message: "it was stopped before it began"}, now), true
}

// Expire ends an open request whose attempt is over, or whose clock ran out. live says that the attempt holds its job.
func (x Exec) Expire(live bool, now time.Time) (next Exec, changed bool) {
	switch {
	case x.State == ExecEnded:
		return x, false
	case !live:
		return x.ended(ExecEnd{Status: ExecLost, Message: "the job ended first"}, now), true
	case now.Before(x.ExpiresAt):
		return x, false
	case x.State == ExecRunning:
		return x.ended(ExecEnd{Status: ExecLost, Message: "its runner has said nothing of it since its time ran out"}, now), true
	default:
		return x.ended(ExecEnd{Status: ExecLost, Message: "the job's runner did not fetch it; nothing was run"}, now), true
	}
}

func (x Exec) ended(e ExecEnd, now time.Time) Exec {
	e.At = now
	x.Revision++
	x.State, x.End, x.ExpiresAt = ExecEnded, &e, now.Add(ExecKept)
	return x
}
