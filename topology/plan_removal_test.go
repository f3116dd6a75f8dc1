package topology

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLeftovers(t *testing.T) {
	t.Parallel()
	live := Identity{Hub: "hub", Runner: "rnr-1", Job: "job_live", Attempt: 1, Epoch: 4}
	old := live
	old.Epoch = 3
	otherHub, otherRunner := testID, testID
	otherHub.Hub, otherRunner.Runner = "hub2", "rnr-2"
	pool := PoolLabels("hub", "rnr-1")
	seen := Snapshot{
		Containers: []ObservedContainer{
			{Name: "dead", Labels: testID.Labels(RoleJob), Networks: []string{"ready-1"}, Volumes: []string{"dead-work"}},
			{Name: "alive", Labels: live.Labels(RoleJob), Networks: []string{"ready-2"}, Volumes: []string{"alive-work"}},
			{Name: "stale", Labels: old.Labels(RoleJob)},
			{Name: "other-hub", Labels: otherHub.Labels(RoleJob)},
			{Name: "other-runner", Labels: otherRunner.Labels(RoleJob)},
			{Name: "foreign", Labels: map[string]string{"app": "x"}},
			{Name: "idle-db", Labels: SetLabels("hub", "rnr-1", "idle"), Networks: []string{"ready-3"}, Volumes: []string{"idle-data"}},
			{Name: "held-db", Labels: SetLabels("hub", "rnr-1", "held"), Networks: []string{"ready-2"}, Volumes: []string{"held-data"}},
			{Name: "kept-db", Labels: SetLabels("hub", "rnr-1", "kept-set"), Networks: []string{"ready-4"}},
			{Name: "odd", Labels: map[string]string{LabelHub: "hub", LabelRunner: "rnr-1", LabelAttempt: "x"}},
		},
		Networks: []ObservedNetwork{
			{Name: "ready-1", Labels: pool}, {Name: "ready-2", Labels: pool}, {Name: "kept", Labels: pool}, {Name: "ready-3", Labels: pool}, {Name: "ready-4", Labels: pool},
			{Name: "own", Labels: testID.Labels(RoleNetwork)}, {Name: "other", Labels: otherHub.Labels(RoleNetwork)},
		},
		Volumes: []ObservedVolume{
			{Name: "dead-work", Labels: testID.Labels(RoleWorkspace)}, {Name: "alive-work", Labels: live.Labels(RoleWorkspace)},
			{Name: "someones", Labels: nil}, {Name: "idle-data", Labels: SetLabels("hub", "rnr-1", "idle")},
			{Name: "held-data", Labels: SetLabels("hub", "rnr-1", "held")}, {Name: "kept-data", Labels: SetLabels("hub", "rnr-1", "kept-set")},
		},
	}
	left := Leftovers(seen, "hub", "rnr-1", []Identity{live}, []string{"kept", "kept-set"})
	want := `1 remove container dead: test
2 remove container stale: test
3 remove container idle-db: test
4 remove container odd: test
5 remove network ready-1 after 1: test
6 remove network ready-3 after 3: test
7 remove network own: test
8 remove volume dead-work after 1: test
9 remove volume idle-data after 3: test
`
	if diff := cmp.Diff(want, PlanRemoval(left, "test").String()); diff != "" {
		t.Error(diff)
	}
	if got := left.Count(); got != (Leaks{Containers: 4, Networks: 3, Volumes: 2}) || got.Total() != 9 {
		t.Errorf("count %+v", got)
	}
	for _, unknown := range [][2]string{{"", ""}, {"hub", ""}, {"", "rnr-1"}} {
		if left := Leftovers(seen, unknown[0], unknown[1], nil, nil); left.Count().Total() != 0 {
			t.Errorf("%q owns %+v", unknown, left)
		}
	}
}

func TestIdentityInLabels(t *testing.T) {
	t.Parallel()
	if got := IdentityOf(testID.Labels(RoleJob)); got != testID {
		t.Errorf("%+v", got)
	}
}
