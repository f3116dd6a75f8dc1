package topology_test

import (
	"errors"
	"fmt"

	"github.com/runnerhub/runnerhub/topology"
)

func ExampleParse() {
	spec, err := topology.Parse([]byte(`
image: golang:1.26
steps:
  - run: go test ./...
services:
  db:
    image: postgres:16
    healthcheck: {test: [CMD, pg_isready]}
resources: {memory: 1GiB}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(spec.Steps[0].Name, spec.Resources.Memory, spec.Services["db"].Healthcheck.Interval)
	// Output: step 1 1073741824 1s
}

// Every mistake is reported at once, each at its place.
func ExampleParse_mistakes() {
	_, err := topology.Parse([]byte(`
image: golang:1.26
comand: go test ./...
timeout: 30
services:
  db:
    image: postgres:16
    restart: always
`))
	fmt.Println(err)

	var specErr *topology.SpecError
	if errors.As(err, &specErr) {
		fmt.Println(len(specErr.Problems), specErr.Problems[0].Code)
	}
	// Output:
	// line 3, column 1: comand: unknown field; did you mean "command"?
	// line 4, column 10: timeout: a duration needs a unit; write "30s" for seconds
	// line 8, column 5: services.db.restart: not supported; services live as long as the job and are never restarted
	// 3 unknown_field
}

// The canonical form is what a hub stores and hands to a runner.
func ExampleSpec_Canonical() {
	spec, err := topology.Parse([]byte("image: alpine\ncommand: echo 'hello world'\nnetwork: none\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	canonical, err := spec.Canonical()
	fmt.Println(string(canonical), err)
	// Output: {"image":"alpine","command":["echo","hello world"],"pull":"missing","network":"none","grace":"10s"} <nil>
}
