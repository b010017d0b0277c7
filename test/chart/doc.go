// Package chart tests the Helm chart as Helm users use it: rendered with Helm's engine for every
// kind of cluster, rejected for contradictory values, and applied to a real Kubernetes.
package chart
