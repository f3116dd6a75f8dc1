package topology

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnfold(t *testing.T) {
	t.Parallel()
	started := map[string]Dependency{"web": {Condition: ServiceHealthy}}
	spec := &Spec{Image: "job", Services: map[string]Service{
		"web": {Image: "app", Scale: 2, Aliases: []string{"www"}},
		"lb":  {Image: "lb", DependsOn: started},
		"one": {Build: &Build{Context: "."}, Image: "own"},
		"two": {Build: &Build{Context: "."}}, "three": {Build: &Build{Context: "x"}}, "user": {Image: "own"},
	}}
	out := spec.Unfold(testID, "tag")
	if diff := cmp.Diff([]string{"lb", "one", "three", "two", "user", "web-1", "web-2"}, slices.Sorted(maps.Keys(out.Services))); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{
		"web-1": "app www web", "web-2": "app www web", "lb": "lb lb-1", "one": "runnerhub-build:rh-job_1-2-tag-1 one-1",
		"two": "runnerhub-build:rh-job_1-2-tag-1 two-1", "three": "runnerhub-build:rh-job_1-2-tag-2 three-1", "user": "runnerhub-build:rh-job_1-2-tag-1 user-1",
	} {
		svc := out.Services[name]
		if got := svc.Image + " " + strings.Join(svc.Aliases, " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	want := map[string]Dependency{"web-1": {Condition: ServiceHealthy}, "web-2": {Condition: ServiceHealthy}}
	if diff := cmp.Diff(want, out.Services["lb"].DependsOn); diff != "" {
		t.Error(diff)
	}
	if len(spec.Services) != 6 || len(spec.Services["lb"].DependsOn) != 1 {
		t.Error("the spec itself was changed")
	}
	builds := PlanBuilds(out).String()
	if builds != "1 build runnerhub-build:rh-job_1-2-tag-1: services.one.build\n2 build runnerhub-build:rh-job_1-2-tag-2: services.three.build\n" {
		t.Error(builds)
	}
}

func TestPlanOfVolumesAndFiles(t *testing.T) {
	t.Parallel()
	observed := observedWith("app")
	observed.Files = map[string]bool{"one.txt": true}
	spec := &Spec{
		Image: "app", Volumes: map[string]Volume{"data": {}, "unused": {}}, Secrets: map[string]FileSource{"key": {File: "key"}},
		Services: map[string]Service{
			"db": {Image: "app", Volumes: []Mount{
				{Type: MountVolume, Source: "data", Target: "/data"}, {Type: MountBind, Source: "conf", Target: "/conf"}, {Type: MountBind, Source: "one.txt", Target: "/one"},
			}},
			"web": {Image: "app", ReadOnly: true, Volumes: []Mount{{Type: MountBind, Source: ".", Target: "/code"}, {Type: MountBind, Source: "/dev/shm", Target: "/m"}},
				Secrets: []FileMount{{Source: "key", Target: "/run/secrets/key"}}},
			"host": {Image: "app", Powers: Powers{NetworkMode: "host"}},
		},
	}
	want := `
1 create network ~net: no ready network
2 create volume ~work: the working directory is the attempt's own
3 create volume ~vol-data: volumes.data
4 create volume ~part-0: services mount conf of the source
5 create container ~files after 4: volumes are filled through it; it never runs
6 copy ~files after 5: conf of the source
7 create container ~job after 1,2: the job
8 create container ~svc-db after 1,3,6: services.db
9 copy ~svc-db after 8: files of services.db
10 start ~svc-db after 8,9,6: services.db
11 create container ~svc-host after 1: services.host
12 start ~svc-host after 11: services.host
13 create container ~svc-web after 1,2: services.web
14 copy ~svc-web after 13: files of services.web
15 start ~svc-web after 13,14,7: services.web
16 start ~job after 7,10,12,15: its services are ready
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), planText(t, spec, observed)); diff != "" {
		t.Error(diff)
	}
	plan, _ := PlanAttempt(spec, testID, NamesFor(spec, testID, "tag"), observed)
	mounts := []Mount{
		{Type: MountVolume, Source: "rh-job_1-2-tag-work", Target: "/code"}, {Type: MountBind, Source: "/dev/shm", Target: "/m"},
		{Type: MountVolume, Target: "/run/secrets"},
	}
	if diff := cmp.Diff(mounts, plan[12].Container.Mounts); diff != "" {
		t.Error(diff)
	}
	if host := plan[10].Container; host.Network != "" || host.NoMetadata || host.Powers.NetworkMode != "host" {
		t.Errorf("%+v", host)
	}
}

func TestImagesOfTwoPlatforms(t *testing.T) {
	t.Parallel()
	_, failure := PlanPulls(&Spec{Image: "app", Services: map[string]Service{"a": {Image: "app", Platform: "linux/386"}}}, observedWith("app"))
	if failure == nil || failure.Class != ClassSpecInvalid {
		t.Errorf("%+v", failure)
	}
	plan, failure := PlanPulls(&Spec{Image: "app", Services: map[string]Service{
		"a": {Image: "db", Platform: "linux/386"}, "b": {Image: "web", Pull: PullAlways},
	}}, observedWith("app", "db", "web"))
	if failure != nil || plan.String() != "1 pull db: the one present is for linux/amd64\n2 pull web: pull: always\n" || plan[0].Platform != "linux/386" {
		t.Errorf("%s, %+v", plan, failure)
	}
}
