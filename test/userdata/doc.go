// Package userdata boots machines from the files that templates writes: cloud-init runs user data,
// Google's own runner a startup script, systemd their units, and an emulated cloud answers, until a
// master serves and an agent's machine proves its identity. It contains tests only.
package userdata
