// Package docker runs topologies on a Docker engine, or one that speaks its API
// (Podman). It is the only home of the Docker client. Engines from Docker 20.10
// (API 1.41) on are supported.
package docker
