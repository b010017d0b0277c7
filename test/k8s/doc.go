// Package k8s lives the life of a cluster on a Kubernetes whose containers run,
// by the commands that a person types: the image that `make image` makes, a
// PostgreSQL, and tasks.
package k8s
