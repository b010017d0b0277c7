// Package userdata has machines boot from the user data that templates writes:
// cloud-init runs it, systemd its units, and an emulated cloud answers, until a
// master serves and an agent's machine proves who it is. It holds tests only.
package userdata
