package topology

import (
	"fmt"
	"regexp"
	"strings"
)

// StepsName is what the shell that runs a job's steps calls itself. After it come,
// as its arguments, the mark of the container and the steps' scripts.
const StepsName = "runnerhub-steps"

// Mark returns the words by which the shell of the job container sets apart its
// own lines: they say on both streams where a step begins ("b 1") and where it ends
// and with which code ("e 1 0"). They are the container's own, so that no output
// has them by chance.
func (n Names) Mark() string { return "\x1e" + n.Job + "\x1e" }

// stepsCommand is the command line that holds a job container open and runs its
// steps. It waits for the number of the next step on its standard input, where it
// stays when the one who writes there is killed; in a session it waits on when the last step is done. A number that is not above
// the last one's is passed over, so that whoever follows may repeat it.
//
// Steps are children of this shell and no processes of the engine's exec: what they
// write is then the container's own output, which engines keep for who comes later.
// The traps are for signals that a step sends to its whole group, or that are meant
// for all processes; in the steps themselves they are not set.
func (s *Spec) stepsCommand(mark string) []string {
	var b strings.Builder
	b.WriteString(`trap : HUP INT TERM
m=$1; shift; n=0; f=0
while :; do
read -r w || { f=$((f+1)); [ $f -lt 100 ] || exit 1; continue; }
[ "$w" -gt "$n" ] 2>/dev/null || continue
n=$w; f=0
echo "${m}b $n"; echo "${m}b $n" >&2
case $n in
`)
	args := []string{"-c", "", StepsName, mark}
	for i, step := range s.Steps {
		fmt.Fprintf(&b, "%d) (%sexec %s) </dev/null;;\n", i+1, exports(step), s.stepWords(step, i+1))
		args = append(args, step.Run)
	}
	b.WriteString(`esac
c=$?
echo "${m}e $n $c"; echo "${m}e $n $c" >&2
done`)
	args[1] = b.String()
	return args
}

// stepWords is the command line of step n in the words of a shell.
func (s *Spec) stepWords(step Step, n int) string {
	words := make([]string, 0, 8)
	for _, kv := range step.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !identifier.MatchString(name) {
			if len(words) == 0 {
				words = append(words, "env") // a shell cannot set such a name
			}
			words = append(words, shellQuote(kv))
		}
	}
	argv := s.StepArgv("")
	for _, word := range argv[:len(argv)-1] {
		words = append(words, shellQuote(word))
	}
	return strings.Join(append(words, fmt.Sprintf(`"${%d}"`, n)), " ")
}

func exports(step Step) string {
	var b strings.Builder
	for _, kv := range step.Environ() {
		if name, value, _ := strings.Cut(kv, "="); identifier.MatchString(name) {
			fmt.Fprintf(&b, "export %s=%s; ", name, shellQuote(value))
		}
	}
	return b.String()
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// shellQuote writes a word so that a shell of sh's kind reads it as it is.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
