// Package install tries the whole of what a person does with a cluster in a
// cloud, by the commands that a person types, on machines that boot.
package install
