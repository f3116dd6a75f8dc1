package attempt

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/docker/go-units"

	"github.com/runnerhub/runnerhub/topology"
)

// classes maps the kinds of an engine's errors to failure classes. What is not
// listed is internal.
var classes = map[topology.ErrorKind]topology.Class{
	topology.KindPull:        topology.ClassImagePull,
	topology.KindBuild:       topology.ClassScript,
	topology.KindPlatform:    topology.ClassCapabilityMissing,
	topology.KindCommand:     topology.ClassSpecInvalid,
	topology.KindInvalid:     topology.ClassSpecInvalid,
	topology.KindDiskFull:    topology.ClassDiskFull,
	topology.KindUnavailable: topology.ClassDockerUnavailable,
	topology.KindDenied:      topology.ClassPolicyDenied,
}

// failureOf turns an error into a failure.
func failureOf(err error) topology.Failure {
	var known *failureError
	if errors.As(err, &known) {
		return known.failure
	}
	class, listed := classes[topology.KindOf(err)]
	if !listed {
		class = topology.ClassInternal
	}
	f := topology.Failure{Class: class, Message: sentence(err.Error())}
	var engine *topology.EngineError
	if errors.As(err, &engine) {
		f.Message = fmt.Sprintf("Could not %s: %s", engine.Op, engine.Err)
		f.Hint = engine.Hint
	}
	return f
}

// jobStartError gives the failure of starting the job container its culprit.
func (x *execution) jobStartError(err error) error {
	f := failureOf(err)
	f.Container = "job"
	if topology.KindOf(err) == topology.KindCommand {
		f.Message = fmt.Sprintf("%s cannot run the job's command: %s", place(x.spec), engineWords(err))
		if x.spec.HeldOpen() {
			f.Message = fmt.Sprintf("%s has no %s, which steps and sessions need: %s", place(x.spec), x.spec.HoldingShell(), engineWords(err))
			f.Hint = "Use an image with a shell, or `command` instead of `steps`."
		}
	}
	return &failureError{f}
}

// serviceStartError gives the failure of starting a service its culprit.
func (x *execution) serviceStartError(svc *service, err error) error {
	f := failureOf(err)
	f.Container = svc.name
	if topology.KindOf(err) == topology.KindCommand {
		f.Message = fmt.Sprintf("The image %s cannot run the command of the service %s: %s",
			x.spec.Services[svc.name].Image, svc.name, engineWords(err))
	}
	return &failureError{f}
}

func engineWords(err error) string {
	var engine *topology.EngineError
	if errors.As(err, &engine) {
		return engine.Err.Error()
	}
	return err.Error()
}

// outsideFailure is the end of a container that the engine ended.
func outsideFailure(container string) topology.Failure {
	return topology.Failure{
		Class: topology.ClassDockerUnavailable, Container: container,
		Message: fmt.Sprintf("The Docker engine ended the container %s: it was stopped or restarted, or somebody stopped the container.", container),
		Hint:    "See what happened to the engine on the runner's machine: `docker events --since 1h`, or its journal.",
	}
}

// explainExit says what an exit code other than 0 means. said is the end of the output.
func explainExit(who string, exit topology.Exit, spec *topology.Spec, said []string) topology.Failure {
	f := topology.Failure{
		Class: topology.ClassScript, Container: "job",
		Message: sentence(fmt.Sprintf("%s exited with code %d", who, exit.Code)),
	}
	last := strings.ToLower(strings.Join(said, "\n"))
	signal := signalOf(exit.Code)
	switch {
	case exit.OOM:
		f.Class = topology.ClassOOM
		f.Message = sentence(fmt.Sprintf("%s ran out of %s; a process of it was killed (exit code %d)", who, memoryOf(spec.Resources), exit.Code))
		f.Hint = "Raise resources.memory in the spec, or use less."
	case strings.Contains(last, "exec format error"):
		f.Class = topology.ClassCapabilityMissing
		f.Message = sentence(fmt.Sprintf("a program of %s is built for another processor or is no program at all (exec format error)", here(spec)))
		f.Hint = "Use an image for this machine's processor; a script needs a first line like #!/bin/sh."
	case initComplaint(last):
		f.Class = topology.ClassSpecInvalid
		f.Message = fmt.Sprintf("%s cannot run the job's command: %s", place(spec), said[len(said)-1])
		f.Hint = "Check the command against the image: the program must exist there and be executable."
	case strings.Contains(last, "can't fork") || strings.Contains(last, "cannot fork") || strings.Contains(last, "fork: resource temporarily unavailable"):
		f.Hint = fmt.Sprintf("The job could start no further process; its limit is %d (resources.pids).", pidsOf(spec.Resources))
	case signal != "":
		f.Message = sentence(fmt.Sprintf("%s was ended by %s (exit code %d)", who, signal, exit.Code))
	case exit.Code == 127:
		f.Hint = fmt.Sprintf("Exit code 127 means that a command was not found; is it in %s and in PATH?", here(spec))
	case exit.Code == 126:
		f.Hint = "Exit code 126 means that a command could not be executed; does it have the x permission and a right first line?"
	}
	return f
}

// here is where the programs of a job are from, to go on in a sentence.
func here(spec *topology.Spec) string {
	if spec.OnHost() {
		return "this machine"
	}
	return "the image " + spec.Image
}

// place is here at the beginning of a sentence.
func place(spec *topology.Spec) string {
	return strings.ToUpper(here(spec)[:1]) + here(spec)[1:]
}

// memoryOf is a container's limit on memory, to go on in a sentence.
func memoryOf(r topology.Resources) string {
	if r.Memory == 0 {
		return "memory (it has no limit of its own; the machine has no more)"
	}
	return "its " + units.BytesSize(float64(r.Memory)) + " of memory"
}

func pidsOf(r topology.Resources) int64 {
	if r.Pids == 0 {
		return topology.DefaultPids
	}
	return r.Pids
}

// initComplaint recognizes the words of the init that an engine puts in front of a
// job (tini, catatonit) when it cannot run the command.
func initComplaint(last string) bool {
	return strings.Contains(last, "[fatal tini") && strings.Contains(last, "exec ") ||
		strings.Contains(last, "catatonit") && strings.Contains(last, "failed to exec")
}

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "no space left on device")
}

// sentence gives an error's text a capital and a full stop.
func sentence(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	text = string(unicode.ToUpper(r)) + text[size:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
