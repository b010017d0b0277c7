// Package userdata has machines boot from what templates writes: cloud-init runs user
// data, Google's own runner a startup script, systemd their units, and an emulated cloud
// answers, until a master serves and an agent's machine proves who it is. It holds tests
// only.
package userdata
