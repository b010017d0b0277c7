package api

import "net/http"

// CallOf returns the call of a request and whether it has a requestId.
func CallOf(r *http.Request) (op string, requestID bool) {
	found, _ := find(rows(), r)
	return found.Op, found.takesRequestID()
}
