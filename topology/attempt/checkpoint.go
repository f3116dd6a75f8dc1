package attempt

import (
	"encoding/json"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// checkpoint is what another process has to know to take an attempt up. What the
// engine can tell is not in it.
type checkpoint struct {
	Begin   time.Time
	Names   topology.Names
	Tag     string            // the spec was unfolded with
	Network string            `json:",omitempty"` // of the pool
	Images  map[string]string `json:",omitempty"` // reference → digest or id
	// Warm are the services that an earlier job had left, and From is where this attempt's
	// part of their output begins.
	Warm    []string                    `json:",omitempty"`
	From    map[string]topology.Offsets `json:",omitempty"`
	Started bool                        `json:",omitempty"` // the job container was
	// Job is the job container, where the attempt may be held: what stands in for it is made like it.
	Job    *topology.ContainerSpec `json:",omitempty"`
	Caches []cached                `json:",omitempty"` // what was restored before that, and is to be saved

	Steps  []topology.StepResult `json:",omitempty"` // of those that have ended
	First  *topology.Result      `json:",omitempty"` // of the step that decided the result
	Begun  int                   `json:",omitempty"` // how many steps the container was asked for
	BegunA time.Time             `json:",omitzero"`  // when the last of them was

	// Result is the attempt's, when all is over but for the removal.
	Result *topology.Result `json:",omitempty"`
}

// first is the outcome that the steps so far have decided on, nil for none.
func (c *checkpoint) first() *outcome {
	if c.First == nil {
		return nil
	}
	return &outcome{result: *c.First}
}

// began says whether step i, counted from 0, was begun before this process came.
func (c *checkpoint) began(i int) bool { return i < c.Begun }

// save changes the checkpoint and hands it to who keeps it. Where it cannot be kept
// the attempt goes on: it would be lost if this process were killed.
func (x *execution) save(change func(*checkpoint)) {
	x.saving.Lock()
	defer x.saving.Unlock()
	change(&x.saved)
	if x.work.Save == nil {
		return
	}
	data, err := json.Marshal(x.saved)
	if err == nil {
		err = x.work.Save(data)
	}
	if err != nil {
		x.e.opts.Logger.Warn("the attempt could not be taken up if this runner were killed", "job", x.id.Job, "error", err)
	}
}

// saveResult notes how all ended. A set of services that stays may be another attempt's by
// the time that anybody reads this, and is forgotten.
func (x *execution) saveResult(result *topology.Result) {
	x.save(func(c *checkpoint) {
		c.Result = result
		if x.left {
			c.Names.Set, c.Network = "", ""
		}
	})
}

// saveSteps notes which steps have ended, and how.
func (x *execution) saveSteps(ended []topology.StepResult, first *outcome) {
	x.saved.Steps = ended
	if first != nil {
		x.saved.First = &first.result
	}
}

// stepBegins notes that step i, counted from 0, is about to begin, unless it has
// before, and says when.
func (x *execution) stepBegins(i int) time.Time {
	if x.resumed.began(i) {
		return x.resumed.BegunA
	}
	now := time.Now()
	x.save(func(c *checkpoint) { c.Begun, c.BegunA = i+1, now })
	return now
}
