// Package hostile attacks a cluster: a table of attempts to gain something forbidden, made against
// a live local cluster, Docker and a real Kubernetes node. None may succeed. docs/security.md
// counts them.
package hostile
