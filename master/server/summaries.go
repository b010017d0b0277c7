package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/task"
)

// summariesCall returns the endpoint that lists every queued or running allocation. There may be 40,000,
// and the API has no pages, so that the response is streamed.
func summariesCall(t *taskCalls) endpoint {
	return endpoint{out: (&apiv1.GetTasksResponse{}).ProtoReflect().Descriptor(), serve: func(c *call) error {
		return t.writeSummaries(c, `{"allocationIdToSummary":{`, appendSummary, "}}")
	}}
}

// rootSummariesCall is like summariesCall for /tasks, where Determined uses names with underscores and no
// enclosing message.
func rootSummariesCall(t *taskCalls) endpoint {
	return endpoint{file: "application/json", serve: func(c *call) error {
		return t.writeSummaries(c, "{", appendRootSummary, "}")
	}}
}

// pieceSize is the size of a write in bytes.
const pieceSize = 128 << 10

func (t *taskCalls) writeSummaries(c *call, begin string, each task.Summary, end string) error {
	if c.answered != nil {
		c.answered(c.Context())
	}
	out := pieces{c: c, b: make([]byte, 0, pieceSize+pieceSize/8)}
	out.b = append(out.b, begin...)
	between := ""
	for text, err := range t.cfg.Tasks.Summaries(each) {
		if err != nil {
			return out.giveUp(err)
		}
		out.b = append(append(out.b, between...), text...)
		between = ","
		if len(out.b) >= pieceSize && !out.send() {
			return nil // the client has disconnected
		}
	}
	out.b = append(out.b, end...)
	out.send()
	return nil
}

// pieces is a partly sent response.
type pieces struct {
	c     *call
	b     []byte
	began bool
}

// send reports whether the client is still connected.
func (p *pieces) send() bool {
	_ = http.NewResponseController(p.c.w).SetWriteDeadline(time.Now().Add(writeTime)) // not supported by recorders in tests
	if !p.began {
		p.began = true
		h := p.c.w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("X-Content-Type-Options", "nosniff")
		p.c.w.WriteHeader(http.StatusOK)
	}
	_, err := p.c.w.Write(p.b)
	p.b = p.b[:0]
	return err == nil
}

// giveUp returns err if nothing was sent, and aborts the response otherwise.
func (p *pieces) giveUp(err error) error {
	if p.began {
		panic(http.ErrAbortHandler)
	}
	return err
}

// appendSummary writes a summary after its key, in the format of writing. It takes a tenth of the time for
// a task without containers and ports.
func appendSummary(b []byte, s *apiv1.AllocationSummary) ([]byte, error) {
	b = appendText(b, s.GetAllocationId())
	b = appendText(append(b, `:{"taskId":`...), s.GetTaskId())
	b = appendText(append(b, `,"allocationId":`...), s.GetAllocationId())
	b = appendText(append(b, `,"name":`...), s.GetName())
	b = append(b, `,"registeredTime":`...)
	if at := s.GetRegisteredTime(); at != nil {
		b = appendTime(b, at.AsTime())
	} else {
		b = append(b, "null"...)
	}
	b = appendText(append(b, `,"resourcePool":`...), s.GetResourcePool())
	b = strconv.AppendInt(append(b, `,"slotsNeeded":`...), int64(s.GetSlotsNeeded()), 10)
	b, err := appendMessages(append(b, `,"resources":`...), s.GetResources())
	if err != nil {
		return b, err
	}
	b = appendText(append(b, `,"schedulerType":`...), s.GetSchedulerType())
	if s.Priority != nil {
		b = strconv.AppendInt(append(b, `,"priority":`...), int64(s.GetPriority()), 10)
	}
	b, err = appendMessages(append(b, `,"proxyPorts":`...), s.GetProxyPorts())
	return append(b, '}'), err
}

// rootNames encodes messages like writing, but with the names of the proto definition.
var rootNames = protojson.MarshalOptions{EmitUnpopulated: true, UseProtoNames: true}

func appendRootSummary(b []byte, s *apiv1.AllocationSummary) ([]byte, error) {
	return rootNames.MarshalAppend(append(appendText(b, s.GetAllocationId()), ':'), s)
}

func appendMessages[M proto.Message](b []byte, list []M) ([]byte, error) {
	b = append(b, '[')
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = writing.MarshalAppend(b, m); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// appendTime writes a time with 0, 3, 6 or 9 fractional digits, as many as required.
func appendTime(b []byte, at time.Time) []byte {
	layout := `"2006-01-02T15:04:05.000000000Z"`
	switch n := at.Nanosecond(); {
	case n == 0:
		layout = `"2006-01-02T15:04:05Z"`
	case n%1_000_000 == 0:
		layout = `"2006-01-02T15:04:05.000Z"`
	case n%1_000 == 0:
		layout = `"2006-01-02T15:04:05.000000Z"`
	}
	return at.AppendFormat(b, layout)
}

// appendText writes a string. Most strings need no escapes.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // strings can always be encoded
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
