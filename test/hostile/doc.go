// Package hostile is the attacker's side of the cluster: attempts to get what one
// may not have, as a table, made against a live local cluster, Docker and a real
// Kubernetes node. None may succeed. docs/security.md counts them.
package hostile
