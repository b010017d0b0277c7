// Package wire runs the roles, a master, an agent, a node and a pod, with what needs the
// SDK of a platform, and has what clusters of all platforms share once they are opened. A
// platform's own is in a package below. Only the commands may import them.
package wire
