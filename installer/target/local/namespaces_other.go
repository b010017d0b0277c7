//go:build !linux

package local

// createsNamespaces reports false: only Linux has namespaces.
func createsNamespaces() bool { return false }
