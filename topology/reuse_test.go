package topology

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func reusing() *Spec {
	return &Spec{
		Image: "app", Volumes: map[string]Volume{"data": {}, "own": {}}, Env: map[string]string{"MOTD": "hi", "OTHER": "x"},
		Configs: map[string]FileSource{"motd": {Environment: "MOTD"}},
		Services: map[string]Service{
			"db": {Image: "db", Reuse: true, Volumes: []Mount{{Type: MountVolume, Source: "data", Target: "/data"}},
				Configs: []FileMount{{Source: "motd", Target: "/motd"}}, Healthcheck: &Healthcheck{Test: []string{"CMD", "up"}}},
			"web": {Image: "app", DependsOn: map[string]Dependency{"db": {Condition: ServiceHealthy}},
				Volumes: []Mount{{Type: MountVolume, Source: "data", Target: "/data"}, {Type: MountVolume, Source: "own", Target: "/own"}}},
		},
	}
}

// TestPlanOfReusedServices has the same spec planned where its services may stay, where
// they are there from before, and where they are like all others.
func TestPlanOfReusedServices(t *testing.T) {
	t.Parallel()
	observed := observedWith("app", "db")
	observed.Network = "ready"
	warm := observed
	warm.Warm = true
	spec := reusing()
	names := NamesFor(spec, testID, "tag")
	ordinary := `
1 create volume ~work: the working directory is the attempt's own
2 create volume ~vol-data: volumes.data
3 create volume ~vol-own: volumes.own
4 create container ~job after 1: the job
5 create container ~svc-db after 2: services.db
6 copy ~svc-db after 5: files of services.db
7 start ~svc-db after 5,6: services.db
8 await healthy ~svc-db after 7: its healthcheck
9 create container ~svc-web after 2,3: services.web
10 start ~svc-web after 9,8: services.web, db is service_healthy
11 start ~job after 4,8,10: its services are ready
`
	tests := map[string]struct {
		names    Names
		observed Observed
		want     string
	}{
		"ordinary": {names, observed, ordinary},
		"staying":  {names.WithSet(spec, "set"), observed, strings.NewReplacer("~vol-data", "rh-warm-set-vol-data", "~svc-db", "rh-warm-set-svc-db").Replace(ordinary)},
		"warm": {names.WithSet(spec, "set"), warm, `
1 create volume ~work: the working directory is the attempt's own
2 create volume ~vol-own: volumes.own
3 create container ~job after 1: the job
4 create container ~svc-web after 2: services.web
5 start ~svc-web after 4: services.web, db is there from before
6 start ~job after 3,5: its services are ready
`},
	}
	for name, tt := range tests {
		plan, failure := PlanAttempt(spec, testID, tt.names, tt.observed)
		if failure != nil {
			t.Fatalf("%s: %+v", name, failure)
		}
		if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), strings.ReplaceAll(plan.String(), "rh-job_1-2-tag-", "~")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, op := range plan {
			var labels map[string]string
			switch {
			case op.Container != nil:
				labels = op.Container.Labels
			case op.Volume != nil:
				labels = op.Volume.Labels
			default:
				continue
			}
			if inSet := labels[LabelSet] == "set"; inSet != tt.names.InSet(op.Target) || inSet == (labels[LabelJob] != "") {
				t.Errorf("%s: %s has the labels %v", name, op.Target, labels)
			}
		}
	}
}

func TestReuseKey(t *testing.T) {
	t.Parallel()
	key := func(change func(*Spec, *Observed)) string {
		spec, observed := reusing(), observedWith("app", "db", "db2")
		if change != nil {
			change(spec, &observed)
		}
		return ReuseKey(spec, observed)
	}
	service := func(change func(*Service)) func(*Spec, *Observed) {
		return func(s *Spec, _ *Observed) {
			db := s.Services["db"]
			change(&db)
			s.Services["db"] = db
		}
	}
	want := key(nil)
	for name, change := range map[string]func(*Spec, *Observed){
		"nothing":           nil,
		"the job's image":   func(s *Spec, _ *Observed) { s.Image = "db2" },
		"another variable":  func(s *Spec, _ *Observed) { s.Env["OTHER"] = "y" },
		"a service besides": func(s *Spec, _ *Observed) { s.Services["web"] = Service{Image: "db2"} },
		"the ready network": func(_ *Spec, o *Observed) { o.Network = "another" },
	} {
		if key(change) != want {
			t.Errorf("%s changes the key", name)
		}
	}
	for name, change := range map[string]func(*Spec, *Observed){
		"the image's digest":   func(_ *Spec, o *Observed) { o.Images["db"] = Image{ID: "sha256:2"} },
		"the environment":      service(func(s *Service) { s.Environment = map[string]string{"A": "b"} }),
		"the command":          service(func(s *Service) { s.Command = []string{"x"} }),
		"a mount":              service(func(s *Service) { s.Volumes[0].Target = "/d" }),
		"the healthcheck":      service(func(s *Service) { s.Healthcheck = nil }),
		"a limit":              service(func(s *Service) { s.Resources.Memory = 1 << 30 }),
		"a power":              service(func(s *Service) { s.Privileged = true }),
		"a file's content":     func(s *Spec, _ *Observed) { s.Env["MOTD"] = "ho" },
		"a further service":    func(s *Spec, _ *Observed) { s.Services["b"] = Service{Image: "db", Reuse: true} },
		"the network's mode":   func(s *Spec, _ *Observed) { s.Network = NetworkRestricted },
		"metadata addresses":   func(_ *Spec, o *Observed) { o.Metadata = true },
		"the platform":         func(s *Spec, _ *Observed) { s.Platform = "linux/arm64" },
		"the name of a member": func(s *Spec, _ *Observed) { s.Services["pg"] = s.Services["db"]; delete(s.Services, "db") },
	} {
		if key(change) == want {
			t.Errorf("%s does not change the key", name)
		}
	}
}
