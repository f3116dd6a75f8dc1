// Package compose reads the Compose files that a job names in its source, and turns
// them into the services of a spec. It is the one home of compose-go.
//
// It reads nothing but the source: no variable of the runner's environment, no file
// outside of the folder, by whatever path, link, include or extends.
package compose
