package edge

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// Transport is what became of a request that was not answered.
type Transport string

// What may become of a request.
const (
	// Unclear is a request of which nothing is known.
	Unclear Transport = ""
	// Unauthenticated means that there were no credentials: nothing was sent.
	Unauthenticated Transport = "unauthenticated"
	// Malformed means that the SDK found the request wrong: nothing was sent.
	Malformed Transport = "malformed"
	// Unconnected means that no connection was made: nothing was sent.
	Unconnected Transport = "unconnected"
	// Lost means that the connection ended before there was an answer.
	Lost Transport = "lost"
)

// NeverConnected reports that no connection was made, so that nothing was sent.
func NeverConnected(err error) bool {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// GaveUp reports that the caller itself ended the call.
func GaveUp(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
