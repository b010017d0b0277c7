package faultproxy

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
)

const requestID = "00000000-0000-4000-8000-000000000000"

// refuse writes an error response in the service's format and returns its status and code.
func (e Effect) refuse(w http.ResponseWriter, c Call) (int, string) {
	code, status := e.Code, e.Status
	if code == throttled {
		code, status = throttledBy(c.form)
	}
	if status == 0 {
		status = http.StatusBadRequest
	}
	kind, body := write(c.form, code, e.Message)
	w.Header().Set("Content-Type", kind)
	if c.form == cborSmithy {
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	}
	w.Header().Set("X-Amzn-Requestid", requestID)
	w.WriteHeader(status)
	if !c.empty {
		_, _ = w.Write(body) // the caller may have disconnected
	}
	return status, code
}

func throttledBy(f form) (string, int) {
	switch f {
	case xmlS3:
		return "SlowDown", http.StatusServiceUnavailable
	case xmlEC2:
		return "RequestLimitExceeded", http.StatusServiceUnavailable
	case xmlQuery:
		return "Throttling", http.StatusBadRequest
	case jsonTarget, cborSmithy:
		return "ThrottlingException", http.StatusBadRequest
	}
	return "Throttling", http.StatusBadRequest
}

// refusal is an XML error response.
type refusal struct {
	Type    string `xml:",omitempty"`
	Code    string
	Message string
}

func write(f form, code, message string) (string, []byte) {
	var body any
	switch f {
	case jsonTarget:
		text, _ := json.Marshal(map[string]string{"__type": code, "message": message}) // strings always marshal
		return "application/x-amz-json-1.1", text
	case cborSmithy:
		return "application/cbor", cborMap("__type", code, "message", message)
	case xmlEC2:
		body = struct {
			XMLName   xml.Name  `xml:"Response"`
			Errors    []refusal `xml:"Errors>Error"`
			RequestID string
		}{Errors: []refusal{{Code: code, Message: message}}, RequestID: requestID}
	case xmlQuery:
		body = struct {
			XMLName   xml.Name `xml:"ErrorResponse"`
			Error     refusal
			RequestID string `xml:"RequestId"`
		}{Error: refusal{Type: "Sender", Code: code, Message: message}, RequestID: requestID}
	case xmlS3:
		body = struct {
			XMLName xml.Name `xml:"Error"`
			refusal
			RequestID string `xml:"RequestId"`
		}{refusal: refusal{Code: code, Message: message}, RequestID: requestID}
	}
	text, _ := xml.Marshal(body) // strings always marshal
	return "text/xml", append([]byte(xml.Header), text...)
}

// cborMap encodes a map of strings to strings.
func cborMap(pairs ...string) []byte {
	out := []byte{0xa0 | byte(len(pairs)/2)}
	for _, s := range pairs {
		out = append(out, 0x79, byte(len(s)>>8), byte(len(s)))
		out = append(out, s...)
	}
	return out
}
