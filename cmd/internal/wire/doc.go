// Package wire gives the roles what needs the SDK of a platform: clouds, Kubernetes,
// secrets and uploads. It imports nearly everything, and only the commands may import
// it; what a role is made of otherwise is the role's own.
package wire
