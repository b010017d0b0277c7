package client

import "github.com/det-deploy/det-deploy/master/api/password"

// HashPassword returns what is sent in place of a password. The empty password
// stays empty.
func HashPassword(p string) string { return password.Hash(p) }
