// Package k8s tests the life of a cluster on a Kubernetes that runs containers, with the commands
// that a user types: the image of `make image`, a PostgreSQL, and tasks.
package k8s
