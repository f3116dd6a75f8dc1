package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PlanPulls plans the pulls that spec needs where observed has been seen. A
// failure says that no pull can help: the engine cannot run the platform, or an
// image is absent and must not be pulled.
func PlanPulls(spec *Spec, observed Observed) (Plan, *Failure) {
	wanted, failure := spec.wantedImages()
	if failure != nil {
		return nil, failure
	}
	var plan Plan
	for _, w := range wanted {
		if w.platform != "" && !observed.Engine.runs(w.platform) {
			return nil, &Failure{
				Class: ClassCapabilityMissing,
				Message: fmt.Sprintf("The job asks for images for %s, but this engine runs %s/%s.",
					w.platform, observed.Engine.OS, observed.Engine.Arch),
				Hint: "Leave platform out, or require the processor (requires: [" + archOf(w.platform) + "]) so that a suitable runner takes the job.",
			}
		}
		if IsBuilt(w.ref) {
			continue
		}
		image, present := observed.Images[w.ref]
		fits := present && (w.platform == "" || image.fits(w.platform))
		pull := Op{Kind: OpPull, Target: w.ref, Platform: w.platform}
		switch {
		case w.pull == PullAlways:
			pull.Cause = "pull: always"
		case fits:
			continue
		case w.pull == PullNever && present:
			return nil, &Failure{
				Class:   ClassImagePull,
				Message: fmt.Sprintf("The image %s on this machine is for %s, not for %s, and pull: never forbids to fetch another.", w.ref, image.platform(), w.platform),
			}
		case w.pull == PullNever:
			return nil, &Failure{
				Class:   ClassImagePull,
				Message: fmt.Sprintf("The image %s is not on this machine, and pull: never forbids to fetch it.", w.ref),
				Hint:    "Pull or build it on the runner's machine, or let the job pull it (pull: missing).",
			}
		case present:
			pull.Cause = "the one present is for " + image.platform()
		default:
			pull.Cause = "not present"
		}
		plan.add(pull)
	}
	return plan, nil
}

// wantedImage is an image that a spec uses, and how it is got.
type wantedImage struct {
	ref, platform string
	pull          PullPolicy
}

// wantedImages returns the images that the spec uses, sorted by reference, each once. An
// engine holds a reference for one platform at a time.
func (s *Spec) wantedImages() ([]wantedImage, *Failure) {
	byRef := map[string]wantedImage{}
	if !s.OnHost() {
		byRef[s.Image] = wantedImage{s.Image, s.Platform, s.Pull}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Services)) {
		svc := s.Services[name]
		w := wantedImage{svc.Image, cmp.Or(svc.Platform, s.Platform), cmp.Or(svc.Pull, s.Pull)}
		other, known := byRef[w.ref]
		switch {
		case !known:
			byRef[w.ref] = w
		case other.platform != w.platform:
			return nil, &Failure{
				Class:   ClassSpecInvalid,
				Message: fmt.Sprintf("The image %s is asked for twice, for different platforms: an engine has it for one at a time.", w.ref),
			}
		case w.pull == PullAlways:
			byRef[w.ref] = w
		}
	}
	all := slices.Collect(maps.Values(byRef))
	slices.SortFunc(all, func(a, b wantedImage) int { return strings.Compare(a.ref, b.ref) })
	return all, nil
}

// images returns the references that spec uses, sorted, each once.
func (s *Spec) images() []string {
	var refs []string
	if !s.OnHost() {
		refs = append(refs, s.Image)
	}
	for _, svc := range s.Services {
		refs = append(refs, svc.Image)
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// Images returns the image references that spec uses, sorted, each once.
func (s *Spec) Images() []string { return s.images() }

// runs says whether the engine runs programs for platform, os/arch[/variant].
func (e EngineInfo) runs(platform string) bool {
	os, _, _ := strings.Cut(platform, "/")
	return os == e.OS && e.runsArch(archOf(platform))
}

func (e EngineInfo) runsArch(arch string) bool {
	switch {
	case arch == "" || arch == e.Arch || slices.Contains(e.Emulates, arch):
		return true
	case e.Arch == "amd64":
		return arch == "386"
	case e.Arch == "arm64":
		return arch == "arm"
	}
	return false
}

func (i Image) platform() string {
	p := i.OS + "/" + i.Arch
	if i.Variant != "" {
		p += "/" + i.Variant
	}
	return p
}

// fits says whether the image is for platform; a variant counts only where both name one.
func (i Image) fits(platform string) bool {
	parts := strings.SplitN(platform, "/", 3)
	if len(parts) < 2 || parts[0] != i.OS || parts[1] != i.Arch {
		return len(parts) < 2
	}
	return len(parts) < 3 || i.Variant == "" || parts[2] == i.Variant
}

func archOf(platform string) string {
	parts := strings.SplitN(platform, "/", 3)
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// foreign is the failure of an image that the engine has no processor for: better
// than the kernel's "exec format error".
func (e EngineInfo) foreign(ref string, image Image) *Failure {
	if image.OS == "" || (image.OS == e.OS && e.runsArch(image.Arch)) {
		return nil
	}
	return &Failure{
		Class:   ClassCapabilityMissing,
		Message: fmt.Sprintf("The image %s is for %s, but this engine runs %s/%s.", ref, image.platform(), e.OS, e.Arch),
		Hint: fmt.Sprintf("Use an image for %s/%s, or require the processor (requires: [%s]) so that a suitable runner takes the job.",
			e.OS, e.Arch, image.Arch),
	}
}
