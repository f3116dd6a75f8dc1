package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/runnerhub/runnerhub/topology"
)

// engineWithin bounds what the engine is asked; an ssh connection takes some of it.
const engineWithin = 30 * time.Second

// engine looks for the engine, and measures on it.
func (x *examination) engine(ctx context.Context) {
	asked, cancel := context.WithTimeout(ctx, engineWithin)
	defer cancel()
	s := x.o.F.SurveyEngine(asked)
	if s.Err != nil {
		x.fail("engine", "docker context use default", "it cannot be told where the engine is: %v", s.Err)
	}
	used := false
	for i, e := range s.Endpoints {
		switch {
		case e.Used && e.Chosen:
			x.ok("socket", "%s is used: named by %s", e.Host, e.Source)
		case e.Used && i > 0:
			x.ok("socket", "%s is used: the first that answers (%s)", e.Host, e.Source)
		case e.Used:
			x.ok("socket", "%s is used (%s)", e.Host, e.Source)
		case e.Chosen:
			x.fail("socket", "unset DOCKER_HOST DOCKER_CONTEXT; docker context use default",
				"%s, named by %s, does not answer, and no other is tried: %v", e.Host, e.Source, e.Err)
		default:
			x.ok("socket", "%s is not used (%s): %v", e.Host, e.Source, e.Err)
		}
		used = used || e.Used
	}
	x.logIns(s)
	if !used {
		if s.Err == nil {
			x.fail("engine", "sudo systemctl start docker", "no container engine answers")
		}
		return
	}
	x.ok("api", "version %s; %s or later is needed", s.API, s.OldestAPI)
	executor, err := x.o.F.NewExecutor(ctx)
	if err != nil {
		x.fail("engine", "docker info", "it answers, but cannot be used: %v", err)
		return
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := executor.Close(closing); err != nil {
			x.warn("engine", "", "what was measured with was not removed: %v", err)
		}
	}()
	info, err := executor.Probe(asked)
	if err != nil {
		x.fail("engine", "docker info", "it does not say what it is: %v", err)
		return
	}
	x.ok("engine", "%s for %s/%s", info.Engine, info.OS, info.Arch)
	x.measure(ctx, executor)
	if s.Local && s.RootDir != "" {
		x.space("images", s.RootDir, "docker system prune")
	}
}

func (x *examination) logIns(s topology.Survey) {
	if len(s.LogIns) == 0 {
		x.ok("registry", "no log-ins: images of public registries only")
	}
	for _, l := range s.LogIns {
		if l.Err != nil {
			x.warn("registry", "docker login "+l.Registry, "the log-in for %s cannot be had: %v", l.Registry, l.Err)
			continue
		}
		x.ok("registry", "logged in to %s", l.Registry)
	}
}

// errNotRun is a measurement that could not be made.
var errNotRun = errors.New("it could not be measured")
