// Package chart tests the Helm chart as Helm's users meet it: rendered with Helm's
// own engine for every kind of cluster, refused where values contradict each
// other, and applied to a real Kubernetes.
package chart
