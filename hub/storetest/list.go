package storetest

import (
	"slices"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func listTests() []test {
	return []test{
		{name: "every combination of filters", run: listFilters},
		{name: "in pages, the newest first", run: listPages},
		{name: "what an entry carries", run: listEntry},
	}
}

// entry is a job as the test knows it, and whose runners have run it.
type entry struct {
	job   hub.Job
	batch string
	ran   []string
}

func (e entry) matches(f hub.JobFilter) bool {
	j := e.job
	return slices.Contains(f.Owners, j.Owner) &&
		(len(f.States) == 0 || slices.Contains(f.States, j.State)) &&
		(f.RunnerID == "" || j.RunnerID == f.RunnerID || slices.Contains(e.ran, f.RunnerID)) &&
		(f.BatchID == "" || e.batch == f.BatchID) &&
		(f.WorkspaceID == "" || j.WorkspaceID == f.WorkspaceID) &&
		(f.Since.IsZero() || !j.CreatedAt.Before(f.Since)) &&
		(f.Until.IsZero() || j.CreatedAt.Before(f.Until)) &&
		(f.BeforeID == "" || j.ID < f.BeforeID)
}

// listFilters compares the store with the plain reading of the filter's words.
func listFilters(w *world) {
	mine, theirs := w.owner, hub.WorkspaceOwner(NewID("wsp_"))
	r := NewRunner(mine)
	var all []entry
	for i, o := range []hub.Owner{mine, theirs, mine, mine, theirs, mine, mine, mine} {
		w.owner = o
		target := ""
		if i == 2 {
			target = r.ID
		}
		p := w.enqueue(target, func(p *hub.EnqueueParams) {
			p.Job.CreatedAt = at(time.Duration(i) * time.Minute)
			p.Job.WorkspaceID = []string{"wsp_a", "wsp_b"}[i%2]
			p.Payload.BatchID = []string{"", "bat_a", "bat_b"}[i%3]
		})
		all = append(all, entry{job: p.Job, batch: p.Payload.BatchID})
	}
	w.owner = mine
	second := NewRunner(mine)
	all[0].job = w.lease(all[0].job.ID, r, at(time.Hour))
	all[0].ran = []string{r.ID}
	all[3].job = w.settle(w.lease(all[3].job.ID, second, at(time.Hour)), success(), at(2*time.Hour))
	all[3].ran = []string{second.ID}
	// One that r had once and second has now.
	job := w.lease(all[5].job.ID, r, at(time.Hour))
	d, err := hub.Release(job, proof(job), "", at(time.Hour))
	w.must(err)
	w.apply(d, at(time.Hour))
	all[5].job = w.start(w.lease(job.ID, second, at(time.Hour)), at(time.Hour))
	all[5].ran = []string{r.ID, second.ID}

	times := []time.Time{{}, at(2 * time.Minute), at(5 * time.Minute)}
	for _, owners := range [][]hub.Owner{{mine}, {theirs}, {mine, theirs}, {"user:nobody"}, {mine, "user:nobody"}, {mine, mine}} {
		for _, states := range [][]hub.JobState{nil, {hub.JobQueued}, {hub.JobLeased, hub.JobRunning}, {hub.JobSucceeded, hub.JobQueued}} {
			for _, runner := range []string{"", r.ID, second.ID, "rnr-none"} {
				for _, workspace := range []string{"", "wsp_a", "wsp_none"} {
					for i, since := range times {
						for _, until := range times {
							for _, batch := range []string{"", "bat_a", "bat_none"} {
								w.compare(hub.JobFilter{
									Owners: owners, States: states, RunnerID: runner, WorkspaceID: workspace, BatchID: batch,
									Since: since, Until: until, BeforeID: []string{"", all[6].job.ID, ""}[i], Limit: 100,
								}, all)
							}
						}
					}
				}
			}
		}
	}
}

func (w *world) compare(f hub.JobFilter, all []entry) {
	w.Helper()
	var want, got []string
	for _, e := range slices.Backward(all) {
		if e.matches(f) {
			want = append(want, e.job.ID)
		}
	}
	jobs, err := w.s.ListJobs(w.ctx, f)
	w.must(err)
	for _, j := range jobs {
		got = append(got, j.Job.ID)
	}
	if !slices.Equal(got, want) {
		w.Errorf("filter %+v:\n got %q\nwant %q", f, got, want)
	}
}

func listPages(w *world) {
	mine, theirs := w.owner, hub.WorkspaceOwner(NewID("wsp_"))
	var want []string
	for i := range 9 {
		w.owner = []hub.Owner{mine, theirs, mine}[i%3]
		want = append(want, w.enqueue("").Job.ID)
	}
	slices.Reverse(want)
	for page := 1; page <= 10; page++ {
		var got []string
		f := hub.JobFilter{Owners: []hub.Owner{mine, theirs}, Limit: page}
		for {
			jobs, err := w.s.ListJobs(w.ctx, f)
			w.must(err)
			for _, j := range jobs {
				got = append(got, j.Job.ID)
				f.BeforeID = j.Job.ID
			}
			if len(jobs) < page {
				break
			}
		}
		w.equal(got, want)
	}
}

func listEntry(w *world) {
	p := w.enqueue("", func(p *hub.EnqueueParams) {
		p.Payload.Name, p.Payload.Labels, p.Payload.BatchID = "n", []string{"l"}, "bat_x"
	})
	got, err := w.s.ListJobs(w.ctx, hub.JobFilter{Owners: []hub.Owner{w.owner}, Limit: 1})
	w.must(err)
	want := hub.QueuedJob{Job: p.Job, Payload: p.Payload}
	want.Payload.Spec = nil
	w.equal(got, []hub.QueuedJob{want})
}
