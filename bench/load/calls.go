package load

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// Lease is what a runner needs of an answer in order to report.
type Lease struct{ JobID, Attempt, Epoch, Token string }

// leaseIn finds the lease in an answer; nil when there is none. It looks for the members that it needs and does not decode the rest.
func leaseIn(body []byte) *Lease {
	_, body, found := bytes.Cut(body, []byte(`"lease":{`))
	if !found {
		return nil
	}
	return &Lease{
		JobID: member(body, "job_id"), Attempt: member(body, "attempt"),
		Epoch: member(body, "lease_epoch"), Token: member(body, "lease_token"),
	}
}

// member is the text of a string or number in an object.
func member(body []byte, name string) string {
	_, rest, found := bytes.Cut(body, []byte(`"`+name+`":`))
	if !found || len(rest) == 0 {
		return ""
	}
	if rest[0] == '"' {
		end := bytes.IndexByte(rest[1:], '"')
		return string(rest[1 : end+1])
	}
	return string(rest[:bytes.IndexAny(rest, ",}")])
}

// Producer submits jobs.
type Producer struct {
	*Conn
	args []byte
}

// NewProducer submits one spec, a JSON object, over and over as the owner of an API key.
func NewProducer(addr, key string, spec []byte) *Producer {
	return &Producer{Conn: NewConn(addr, key), args: append(append([]byte(`{"spec":`), spec...), '}')}
}

// Submit submits one job.
func (p *Producer) Submit() error {
	_, err := p.Call("submit_job", p.args)
	return err
}

// Runner takes jobs and reports at once that they succeeded.
type Runner struct {
	*Conn
	name     string
	requests int
	args     []byte
	// Chained asks for the next lease in each report, which saves a round trip.
	Chained bool
}

// NewRunner is the runner of a token. name must be its own among all that use the hub.
func NewRunner(addr, token, name string) *Runner {
	return &Runner{Conn: NewConn(addr, token), name: name}
}

const result = `{"status":"succeeded","exit_code":0,"usage":{"cpu_ms":1,"memory_peak_bytes":1,"wall_ms":1},` +
	`"leaks":{"containers":0,"networks":0,"volumes":0}}`

const machine = `"capabilities":["docker","linux","amd64"],"os":"linux","arch":"amd64","protocol":1,"slots":1,"free_slots":1`

// request appends a fresh request's members.
func (r *Runner) request() {
	r.requests++
	r.args = append(append(r.args, `{"request_id":"`...), r.name...)
	r.args = append(strconv.AppendInt(append(r.args, '-'), int64(r.requests), 10), `",`+machine...)
}

// Lease waits up to 25 s for a job; nil when there was none.
func (r *Runner) Lease() (*Lease, error) {
	r.args = r.args[:0]
	r.request()
	r.args = append(r.args, `,"wait_ms":25000}`...)
	body, err := r.Call("lease_job", r.args)
	if err != nil {
		return nil, err
	}
	return leaseIn(body), nil
}

// Settle reports success. With Chained it returns the next lease, if there was one at once.
func (r *Runner) Settle(l *Lease) (*Lease, error) {
	if l.Token == "" {
		return nil, errors.New("the lease lacks its token")
	}
	r.args = append(r.args[:0], strings.Join([]string{
		`{"job_id":"`, l.JobID, `","attempt":`, l.Attempt, `,"lease_epoch":`, l.Epoch, `,"lease_token":"`, l.Token,
		`","result":`, result,
	}, "")...)
	if r.Chained {
		r.args = append(r.args, `,"next_lease":`...)
		r.request()
		r.args = append(r.args, '}')
	}
	r.args = append(r.args, '}')
	body, err := r.Call("submit_job_result", r.args)
	if err != nil {
		return nil, err
	}
	return leaseIn(body), nil
}
