package memory

import (
	"fmt"

	"github.com/runnerhub/runnerhub/hub"
)

// checkJob holds a row to what the databases' constraints say, for decisions that no function of package hub makes.
func checkJob(j hub.Job) error {
	lease := j.LeaseRunnerID != "" && len(j.LeaseDigest) > 0 && j.Attempt > 0 && j.Epoch > 0 &&
		!j.LeaseExpiresAt.IsZero() && !j.DeadlineAt.IsZero() && !j.LeaseExpiresAt.After(j.DeadlineAt)
	none := len(j.LeaseDigest) == 0 && j.LeaseExpiresAt.IsZero() && j.DeadlineAt.IsZero()
	var rule string
	switch {
	case j.State != hub.JobQueued && !j.State.Live() && !j.State.Ended():
		rule = "there is no such state"
	case j.Owner == "" || j.Attempt < 0 || j.Epoch < 0 || j.Losses < 0:
		rule = "a job has an owner, and counts from zero"
	case j.State.Live() && !lease:
		rule = "a live job has a lease that ends by its deadline"
	case !j.State.Live() && !none:
		rule = "only a live job has a lease"
	case j.State == hub.JobRunning && j.StartedAt.IsZero():
		rule = "a running job has started"
	case j.State.Ended() == j.EndedAt.IsZero():
		rule = "a job has an end once it has ended"
	case j.State == hub.JobSucceeded && j.Failure != nil:
		rule = "a job that succeeded has no failure"
	case j.State.Ended() && j.State != hub.JobSucceeded && j.Failure == nil:
		rule = "a job that did not succeed has a failure"
	default:
		return nil
	}
	return fmt.Errorf("memory: job %s in state %q: %s", j.ID, j.State, rule)
}
