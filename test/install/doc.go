// Package install tests a cluster in a cloud from installation to removal, with the commands that a
// user types, on machines that boot.
package install
