package topology

import "fmt"

// checkReuse reports what a service cannot be that stays after its job: whatever it is
// made of must last as long as it does, and be known when two jobs are compared.
func (d *decoder) checkReuse(v value, s Service) {
	if !s.Reuse {
		return
	}
	why, hint := "", "remove one of the two"
	switch {
	case s.Build != nil:
		why, hint = "build", "the image is built for one attempt; name one that is there"
	case s.NetworkMode != "":
		why, hint = "network_mode", "the service stays on a network of its own"
	case len(s.Ports) > 0:
		why, hint = "ports", "a published port would be taken as long as the service stays"
	}
	for _, m := range s.Volumes {
		if m.fromSource() {
			why, hint = "mounts of the source", "every job has a source of its own; use a volume, or configs with content"
		}
	}
	if why != "" {
		d.report(v.key, join(v.path, "reuse"), ProblemConflict, "reuse excludes "+why, hint)
	}
}

// checkReused reports reused services whose part in the job ends with it, and files
// of the source in them. files are the configs and secrets of the spec.
func (d *decoder) checkReused(v value, s *Spec) {
	for _, name := range s.Reused() {
		svc, at := s.Services[name], join(join(v.path, name), "reuse")
		for on := range svc.DependsOn {
			if other, known := s.Services[on]; known && !other.Reuse {
				d.report(v.key, at, ProblemConflict, fmt.Sprintf("it depends on %s, which does not stay", quote(on)), "mark that one too")
			}
		}
		if completes(s.Services, name) {
			d.report(v.key, at, ProblemConflict, "a service that others wait for the end of cannot stay", "leave reuse out")
		}
		for _, of := range []struct {
			mounts []FileMount
			files  map[string]FileSource
		}{{svc.Configs, s.Configs}, {svc.Secrets, s.Secrets}} {
			for _, m := range of.mounts {
				if of.files[m.Source].File != "" {
					d.report(v.key, at, ProblemConflict, "reuse excludes files of the source ("+quote(m.Source)+")", "every job has a source of its own; write the content into the spec")
				}
			}
		}
	}
}
