package docker

import (
	"strings"
	"testing"

	"github.com/runnerhub/runnerhub/topology"
)

// What the classic builder of Docker 20.10 says of a file with two steps and a build with two labels.
func TestTheLogOfABuildIsThatOfItsFile(t *testing.T) {
	said := []string{
		"Step 1/4 : FROM busybox", "\n", " ---> cf77eb410242\n", "Step 2/4 : LABEL a=b", "\n", " ---> Running in 75b4021b258b\n", "Removing intermediate container 75b4021b258b\n",
		" ---> 15fc4695ba70\n", "Step 3/4 : LABEL runnerhub.hub=h", "\n", " ---> Running in 008d279ddbfd\n", "Removing intermediate container 008d279ddbfd\n",
		" ---> c1f8817bc46b\n", "Step 4/4 : LABEL runnerhub.job=j", "\n", " ---> Using cache\n", " ---> 776878e31333\n",
		"[Warning] One or more build-args [X] were not consumed\n", "Successfully built 776878e31333\n",
	}
	var out strings.Builder
	l := &buildLog{out: func(_ topology.Stream, data []byte) { out.Write(data) }, labels: 2}
	for _, text := range said {
		l.take(buildMessage{Stream: text})
	}
	want := "Step 1/2 : FROM busybox\n ---> cf77eb410242\nStep 2/2 : LABEL a=b\n ---> Running in 75b4021b258b\nRemoving intermediate container 75b4021b258b\n" +
		" ---> 15fc4695ba70\n[Warning] One or more build-args [X] were not consumed\nSuccessfully built 776878e31333\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
	if got := strings.Join(l.made, " "); got != "15fc4695ba70 c1f8817bc46b" { // what may have to be removed
		t.Errorf("made %s", got)
	}
	// A program of a step that speaks like the builder has its words kept.
	out.Reset()
	l = &buildLog{out: l.out, labels: 2}
	for _, text := range []string{"Step 2/4 : RUN talk", "\n", "Step 0/0 is next\n", " ---> mine\n"} {
		l.take(buildMessage{Stream: text})
	}
	if want := "Step 2/2 : RUN talk\nStep 0/0 is next\n ---> mine\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}
