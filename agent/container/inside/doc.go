// Package inside reaches into running containers, for the runtimes of agent/container: it runs a
// program as the child of an agent, connects to a network namespace, ends the processes of a session,
// and packs and unpacks files with the container's tar.
package inside
