// Package wire turns configuration into running parts. It is the one place that
// knows which database, which resource manager and which container runtime
// stand behind the interfaces, so it imports nearly everything and nearly
// nobody may import it: only the commands do.
package wire
