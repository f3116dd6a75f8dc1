package topology

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	testID    = Identity{Hub: "hub", Runner: "rnr-1", Job: "job_1", Attempt: 2, Epoch: 7}
	testImage = Image{ID: "sha256:1", OS: "linux", Arch: "amd64"}
)

func observedWith(refs ...string) Observed {
	o := Observed{Engine: EngineInfo{Info: Info{OS: "linux", Arch: "amd64"}, Init: true}, Images: map[string]Image{}}
	for _, ref := range refs {
		o.Images[ref] = testImage
	}
	return o
}

func planText(t *testing.T, spec *Spec, observed Observed) string {
	t.Helper()
	plan, failure := PlanAttempt(spec, testID, NamesFor(spec, testID, "tag"), observed)
	if failure != nil {
		t.Fatalf("%+v", failure)
	}
	return strings.ReplaceAll(plan.String(), "rh-job_1-2-tag-", "~")
}

func TestPlanAttempt(t *testing.T) {
	t.Parallel()
	withUser := observedWith("app")
	withUser.Images["app"] = Image{OS: "linux", Arch: "amd64", User: "nobody"}
	sourced := observedWith("app")
	sourced.Source = true
	ready := observedWith("app")
	ready.Network = "rh-ready-1"
	healthy := observedWith("app", "db", "seed")
	healthy.Images["db"] = Image{OS: "linux", Arch: "amd64", Health: &Healthcheck{Test: []string{"CMD-SHELL", "up"}}}
	tests := map[string]struct {
		spec     *Spec
		observed Observed
		want     string
	}{
		"a job alone": {&Spec{Image: "app"}, observedWith("app"), `
1 create network ~net: no ready network
2 create volume ~work: the working directory is the attempt's own
3 create container ~job after 1,2: the job
4 start ~job after 3: everything that it needs is there
`},
		"on the machine itself": {&Spec{Command: []string{"app"}}, observedWith(), `
1 create container ~job: the job, on the machine itself
2 start ~job after 1: everything that it needs is there
`},
		"on the machine itself, in its source": {&Spec{Command: []string{"app"}}, sourced, `
1 create container ~job: the job, on the machine itself
2 fill ~job after 1: the job starts in its source
3 start ~job after 2: everything that it needs is there
`},
		"on a ready network": {&Spec{Image: "app"}, ready, `
1 create volume ~work: the working directory is the attempt's own
2 create container ~job after 1: the job
3 start ~job after 2: everything that it needs is there
`},
		"without a network, as a user": {&Spec{Image: "app", Network: NetworkNone}, withUser, `
1 create volume ~work: the working directory is the attempt's own
2 create container ~job after 1: the job
3 open directory ~job after 2: the job runs as nobody, and a new volume is root's
4 start ~job after 3: everything that it needs is there
`},
		"with a source": {&Spec{Image: "app", User: "app:staff", Network: NetworkNone}, sourced, `
1 create volume ~work: the working directory is the attempt's own
2 create container ~job after 1: the job
3 fill ~job after 2: the job starts in its source
4 start ~job after 3: everything that it needs is there
`},
		"with a cache": {&Spec{Image: "app", Network: NetworkNone, Cache: []CacheSpec{{}}}, sourced, `
1 create volume ~work: the working directory is the attempt's own
2 create container ~job after 1: the job
3 fill ~job after 2: the job starts in its source
4 restore ~job after 3: cache
5 start ~job after 4: everything that it needs is there
`},
		"services in their order": {&Spec{Image: "app", Network: NetworkRestricted, Services: map[string]Service{
			"web": {Image: "app", DependsOn: map[string]Dependency{
				"db": {Condition: ServiceHealthy}, "seed": {Condition: ServiceCompleted}, "cache": {Condition: ServiceStarted},
			}, Healthcheck: &Healthcheck{Test: []string{"CMD", "up"}}},
			"seed":  {Image: "seed", DependsOn: map[string]Dependency{"db": {Condition: ServiceHealthy}}},
			"db":    {Image: "db"},
			"cache": {Image: "db", Healthcheck: &Healthcheck{Test: []string{"NONE"}}},
		}}, healthy, `
1 create network ~net: no ready network; network: restricted
2 create volume ~work: the working directory is the attempt's own
3 create container ~job after 1,2: the job
4 create container ~svc-cache after 1: services.cache
5 start ~svc-cache after 4: services.cache
6 create container ~svc-db after 1: services.db
7 start ~svc-db after 6: services.db
8 await healthy ~svc-db after 7: the image's healthcheck
9 create container ~svc-seed after 1: services.seed
10 start ~svc-seed after 9,8: services.seed, db is service_healthy
11 await completed ~svc-seed after 10: a service waits for its end
12 create container ~svc-web after 1: services.web
13 start ~svc-web after 12,5,8,11: services.web, cache is service_started, db is service_healthy, seed is service_completed_successfully
14 await healthy ~svc-web after 13: its healthcheck
15 start ~job after 3,5,8,11,14: its services are ready
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), planText(t, tt.spec, tt.observed)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlanAttemptRefuses(t *testing.T) {
	t.Parallel()
	foreign := observedWith()
	foreign.Images["app"] = Image{OS: "linux", Arch: "arm64", Variant: "v8"}
	cyclic := map[string]Service{
		"a": {Image: "app", DependsOn: map[string]Dependency{"b": {Condition: ServiceStarted}}},
		"b": {Image: "app", DependsOn: map[string]Dependency{"a": {Condition: ServiceStarted}}},
	}
	tests := map[string]struct {
		spec     *Spec
		observed Observed
		class    Class
		words    string
	}{
		"another processor": {&Spec{Image: "app"}, foreign, ClassCapabilityMissing, "for linux/arm64/v8, but this engine runs linux/amd64"},
		"a cycle":           {&Spec{Image: "app", Services: cyclic}, observedWith("app"), ClassSpecInvalid, "depends on itself"},
		"an unknown one": {&Spec{Image: "app", Services: map[string]Service{
			"a": {Image: "app", DependsOn: map[string]Dependency{"b": {}}},
		}}, observedWith("app"), ClassSpecInvalid, "not declared"},
	}
	for name, tt := range tests {
		_, failure := PlanAttempt(tt.spec, testID, NamesFor(tt.spec, testID, "tag"), tt.observed)
		if failure == nil || failure.Class != tt.class || !strings.Contains(failure.Message, tt.words) {
			t.Errorf("%s: %+v", name, failure)
		}
	}
	emulated := foreign
	emulated.Engine.Emulates = []string{"arm64"}
	if _, failure := PlanAttempt(&Spec{Image: "app"}, testID, NamesFor(&Spec{}, testID, "tag"), emulated); failure != nil {
		t.Errorf("emulated: %+v", failure)
	}
}

func TestPlanPulls(t *testing.T) {
	t.Parallel()
	spec := func(pull PullPolicy, platform string) *Spec {
		return &Spec{Image: "app", Pull: pull, Platform: platform, Services: map[string]Service{"a": {Image: "db"}, "b": {Image: "db"}}}
	}
	tests := map[string]struct {
		spec     *Spec
		observed Observed
		want     string
	}{
		"all present":         {spec("", ""), observedWith("app", "db"), ""},
		"one is missing":      {spec(PullMissing, ""), observedWith("app"), "1 pull db: not present\n"},
		"always":              {spec(PullAlways, ""), observedWith("app", "db"), "1 pull app: pull: always\n2 pull db: pull: always\n"},
		"never":               {spec(PullNever, ""), observedWith("app"), "image_pull: The image db is not on this machine, and pull: never forbids to fetch it."},
		"platform fits":       {spec("", "linux/amd64"), observedWith("app", "db"), ""},
		"platform differs":    {spec("", "linux/386"), observedWith("app", "db"), "1 pull app: the one present is for linux/amd64\n2 pull db: the one present is for linux/amd64\n"},
		"never, and differs":  {spec(PullNever, "linux/386"), observedWith("app", "db"), "image_pull: The image app on this machine is for linux/amd64, not for linux/386, and pull: never forbids to fetch another."},
		"engine cannot do so": {spec("", "linux/arm64"), observedWith(), "capability_missing: The job asks for images for linux/arm64, but this engine runs linux/amd64."},
	}
	for name, tt := range tests {
		plan, failure := PlanPulls(tt.spec, tt.observed)
		got := plan.String()
		if failure != nil {
			got = string(failure.Class) + ": " + failure.Message
		}
		if got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

func TestJobContainer(t *testing.T) {
	t.Parallel()
	spec := &Spec{
		Image: "app", Command: []string{"a", "b"}, Env: map[string]string{"CI": "no", "RUNNERHUB_ATTEMPT": "9", "Z": "1"},
		Resources: Resources{CPUs: 1.5, Memory: 1 << 20},
	}
	plan, _ := PlanAttempt(spec, testID, NamesFor(spec, testID, "tag"), observedWith("app"))
	want := ContainerSpec{
		Name: "rh-job_1-2-tag-job", Hostname: "job", Image: "app", Command: []string{"a", "b"}, WorkingDir: "/workspace",
		Env:     []string{"CI=no", "RUNNERHUB_ATTEMPT=2", "RUNNERHUB_JOB_ID=job_1", "RUNNERHUB_OUTPUT=/tmp/runnerhub-output", "TERM=dumb", "Z=1"},
		Network: "rh-job_1-2-tag-net", Aliases: []string{"job"}, Volumes: map[string]string{"/workspace": "rh-job_1-2-tag-work"},
		Resources: Resources{CPUs: 1.5, Memory: 1 << 20, Pids: DefaultPids}, NoMetadata: true, Init: true,
		Labels: map[string]string{
			"runnerhub.hub": "hub", "runnerhub.runner": "rnr-1", "runnerhub.job": "job_1",
			"runnerhub.attempt": "2", "runnerhub.epoch": "7", "runnerhub.role": "job",
		},
	}
	if diff := cmp.Diff(want, *plan[2].Container); diff != "" {
		t.Error(diff)
	}
	steps := &Spec{Image: "app", Shell: []string{"/bin/bash", "-c"}, Steps: []Step{{Name: "s", Run: "true"}}}
	plan, _ = PlanAttempt(steps, testID, NamesFor(steps, testID, "tag"), observedWith("app"))
	if c := plan[2].Container; !c.OpenStdin || c.Entrypoint[0] != "/bin/bash" {
		t.Errorf("steps: %+v", c)
	}
	if got := (&Spec{Shell: []string{"python3", "-c"}}).HoldingShell(); got != "/bin/sh" {
		t.Errorf("holding shell %q", got)
	}
}

func TestServiceContainer(t *testing.T) {
	t.Parallel()
	spec := &Spec{Image: "app", Services: map[string]Service{"my_db": {
		Image: "app", Entrypoint: []string{"/run"}, Command: []string{"x"}, Environment: map[string]string{"B": "2", "A": "1"},
		WorkingDir: "/w", User: "u", Tmpfs: []string{"/tmp:size=1m", "/run"}, Resources: Resources{Pids: 9},
	}}}
	want := ContainerSpec{
		Name: "rh-job_1-2-tag-svc-my_db", Hostname: "my-db", Image: "app", Entrypoint: []string{"/run"}, Command: []string{"x"},
		Env: []string{"A=1", "B=2"}, WorkingDir: "/w", User: "u", Tmpfs: map[string]string{"/tmp": "size=1m", "/run": ""},
		Resources: Resources{Pids: 9}, Aliases: []string{"my_db"}, Labels: testID.Labels(RoleService),
	}
	if diff := cmp.Diff(want, serviceContainer(spec, "my_db", testID, NamesFor(spec, testID, "tag"))); diff != "" {
		t.Error(diff)
	}
}

func TestEffectiveHealth(t *testing.T) {
	t.Parallel()
	image := Image{Shell: []string{"/bin/ash", "-c"}, Health: &Healthcheck{Test: []string{"CMD", "up"}, Interval: Duration(time.Minute), Retries: 3}}
	tests := map[string]struct {
		declared *Healthcheck
		image    Image
		want     *Healthcheck
	}{
		"none at all":     {nil, Image{}, nil},
		"switched off":    {&Healthcheck{Test: []string{"NONE"}}, image, nil},
		"the image's own": {nil, image, &Healthcheck{Test: []string{"up"}, Interval: Duration(time.Minute), Timeout: Duration(30 * time.Second), Retries: 3}},
		"a shell's": {&Healthcheck{Test: []string{"CMD-SHELL", "a || b"}, Timeout: Duration(time.Second)}, image,
			&Healthcheck{Test: []string{"/bin/ash", "-c", "a || b"}, Interval: Duration(time.Second), Timeout: Duration(time.Second), Retries: 30}},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, effectiveHealth(tt.declared, tt.image)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestWhatContainersReach holds the job's container and its service's to the network mode.
func TestWhatContainersReach(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		mode       NetworkMode
		metadata   bool
		resolvers  []string
		noMetadata bool
	}{
		"open":              {NetworkOpen, false, nil, true},
		"open, by policy":   {NetworkOpen, true, nil, false},
		"restricted":        {NetworkRestricted, false, []string{"127.0.0.1"}, false},
		"restricted anyway": {NetworkRestricted, true, []string{"127.0.0.1"}, false},
		"none":              {NetworkNone, false, nil, false},
	}
	for name, tt := range tests {
		spec := &Spec{Image: "app", Network: tt.mode}
		if tt.mode != NetworkNone {
			spec.Services = map[string]Service{"db": {Image: "app"}}
		}
		observed := observedWith("app")
		observed.Metadata = tt.metadata
		plan, failure := PlanAttempt(spec, testID, NamesFor(spec, testID, "tag"), observed)
		if failure != nil {
			t.Fatal(failure)
		}
		for _, op := range plan {
			c := op.Container
			if c == nil {
				continue
			}
			if c.NoMetadata != tt.noMetadata || !slices.Equal(c.Resolvers, tt.resolvers) || (c.Network == "") != (tt.mode == NetworkNone) {
				t.Errorf("%s: %s has %v, %v on network %q", name, op.Target, c.NoMetadata, c.Resolvers, c.Network)
			}
		}
	}
}
