package config

import (
	"strconv"

	"github.com/det-deploy/det-deploy/document"
)

// DBPort is a port that older files write as text.
type DBPort string

// UnmarshalDocument reads a number or a text.
func (p *DBPort) UnmarshalDocument(v document.Value) {
	if !v.IsText() {
		v.Complain("must be a port number", "")
		return
	}
	*p = DBPort(v.Text())
}

// Number is the port; ok is false when it is not a number of a port.
func (p DBPort) Number() (port int, ok bool) {
	n, err := strconv.Atoi(string(p))
	return n, err == nil && n > 0 && n <= 65535
}

// DocumentShape names the written form.
func (DBPort) DocumentShape() string { return "port" }
