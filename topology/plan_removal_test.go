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
			{Name: "odd", Labels: map[string]string{LabelHub: "hub", LabelRunner: "rnr-1", LabelAttempt: "x"}},
		},
		Networks: []ObservedNetwork{
			{Name: "ready-1", Labels: pool}, {Name: "ready-2", Labels: pool}, {Name: "kept", Labels: pool},
			{Name: "own", Labels: testID.Labels(RoleNetwork)}, {Name: "other", Labels: otherHub.Labels(RoleNetwork)},
		},
		Volumes: []ObservedVolume{
			{Name: "dead-work", Labels: testID.Labels(RoleWorkspace)}, {Name: "alive-work", Labels: live.Labels(RoleWorkspace)},
			{Name: "someones", Labels: nil},
		},
	}
	left := Leftovers(seen, "hub", "rnr-1", []Identity{live}, []string{"kept"})
	want := `1 remove container dead: test
2 remove container stale: test
3 remove container odd: test
4 remove network ready-1 after 1: test
5 remove network own: test
6 remove volume dead-work after 1: test
`
	if diff := cmp.Diff(want, PlanRemoval(left, "test").String()); diff != "" {
		t.Error(diff)
	}
	if got := left.Count(); got != (Leaks{Containers: 3, Networks: 2, Volumes: 1}) || got.Total() != 6 {
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
