package storetest

import (
	"fmt"
	"time"

	"github.com/runnerhub/runnerhub/hub"
)

func presenceTests() []test {
	return []test{
		{name: "presence comes back as it was saved", run: presenceRoundTrip},
		{name: "a runner that is gone", run: presenceMissing},
		{name: "never goes back in time", run: presenceOrder},
		{name: "several hubs at once", run: presenceRace},
	}
}

func (w *world) present(p map[string]hub.Presence) {
	w.Helper()
	w.must(w.s.SavePresence(w.ctx, p))
}

func presenceRoundTrip(w *world) {
	a := w.paired(func(r *hub.Runner) { r.Presence = hub.Presence{OS: "darwin", Version: "1"} })
	b := w.paired()
	full := hub.Presence{
		OS: "linux", Arch: "amd64", Version: "1.2.3", Protocol: 1, Capabilities: []string{"docker", "gpu"},
		Slots: 4, FreeSlots: 3, Draining: true, StatusText: "größe: 漢字", StatusLevel: "warning", SeenAt: at(time.Second),
		LeftAt: at(time.Second),
	}
	w.present(map[string]hub.Presence{a.ID: full, b.ID: {SeenAt: at(time.Second)}})
	a.Presence, b.Presence = full, hub.Presence{SeenAt: at(time.Second)}
	w.equal(w.runnerNow(a.ID), a)
	w.equal(w.runnerNow(b.ID), b)

	a.Presence = hub.Presence{OS: "linux", SeenAt: at(2 * time.Second)}
	w.present(map[string]hub.Presence{a.ID: a.Presence})
	w.equal(w.runnerNow(a.ID), a)
	byToken, err := w.s.RunnerByToken(w.ctx, a.TokenDigest)
	w.must(err)
	w.equal(byToken, a)
	all, err := w.s.ListRunners(w.ctx, w.owner, true, "", 10)
	w.must(err)
	w.equal(all, []hub.Runner{a, b})
	byLabel, err := w.s.RunnersByLabel(w.ctx, []hub.Owner{w.owner}, a.Label)
	w.must(err)
	w.equal(byLabel, []hub.Runner{a})
}

func presenceMissing(w *world) {
	r := w.paired()
	seen := hub.Presence{SeenAt: at(time.Second)}
	w.present(map[string]hub.Presence{"rnr-missing": seen, r.ID: seen})
	w.equal(w.runnerNow(r.ID).Presence, seen) // the others are saved
	w.present(nil)
}

// Another hub may have heard the runner since.
func presenceOrder(w *world) {
	r := w.paired()
	late := hub.Presence{OS: "linux", SeenAt: at(time.Minute)}
	w.present(map[string]hub.Presence{r.ID: late})
	w.present(map[string]hub.Presence{r.ID: {OS: "darwin", SeenAt: at(time.Second)}})
	w.equal(w.runnerNow(r.ID).Presence, late)
	late.Slots = 2
	w.present(map[string]hub.Presence{r.ID: late}) // the same moment: the later word counts
	w.equal(w.runnerNow(r.ID).Presence, late)
}

func presenceRace(w *world) {
	const hubs = 4
	ids := make([]string, 12)
	for i := range ids {
		ids[i] = w.paired().ID
	}
	errs := make([]error, hubs)
	together(hubs, func(i int) {
		p := map[string]hub.Presence{} // in any order, as a map is
		for _, id := range ids {
			p[id] = hub.Presence{Version: fmt.Sprint(i), SeenAt: at(time.Duration(i) * time.Second)}
		}
		errs[i] = w.s.SavePresence(w.ctx, p)
	})
	for _, err := range errs {
		w.must(err)
	}
	for _, id := range ids {
		w.equal(w.runnerNow(id).Presence.Version, fmt.Sprint(hubs-1))
	}
}
