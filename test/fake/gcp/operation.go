package gcptest

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"
)

// operation is a Compute Engine operation.
// https://cloud.google.com/compute/docs/api/how-tos/api-requests-responses#handling_api_responses
type operation struct {
	compute.Operation
	path      string // "projects/p/zones/z/operations/operation-…"
	due       time.Time
	apply     func() *failure
	undo      func()
	forgotten bool
}

// failure is the error of an operation.
// https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation
type failure struct {
	status  int
	reason  string // the operation's HTTP error message: "BAD REQUEST"
	code    string // "ZONE_RESOURCE_POOL_EXHAUSTED"
	message string
	details []*compute.OperationErrorErrorsErrorDetails
}

// effect is applied when an operation is done. Either function may be nil.
type effect struct {
	apply func() *failure
	undo  func() // reverts the changes that were visible while it ran
}

// operate starts an operation on a target: "insert" of "projects/p/zones/z/disks/d".
func (c *call) operate(verb, target string, e effect) (any, error) {
	return c.operateFor(c.opt.Operation, verb, target, e)
}

// operateFor is like operate with a specific duration.
func (c *call) operateFor(takes time.Duration, verb, target string, e effect) (any, error) {
	scope := target[:strings.LastIndexByte(target[:strings.LastIndexByte(target, '/')], '/')+1]
	c.serial++
	now := c.now()
	o := &operation{due: now.Add(takes), apply: e.apply, undo: e.undo}
	o.Kind, o.Id, o.OperationType = "compute#operation", c.nextID(), verb
	o.Name = fmt.Sprintf("operation-%d-%012x", now.UnixMilli(), c.serial)
	o.path = scope + "operations/" + o.Name
	o.SelfLink, o.TargetLink, o.TargetId = linkTo(o.path), linkTo(target), c.nextID()
	o.User, o.ClientOperationId = strings.TrimPrefix(c.caller.Member, "user:"), c.requestID()
	o.InsertTime, o.StartTime, o.Status = c.stamp(), c.stamp(), "RUNNING"
	switch parts := strings.Split(scope, "/"); parts[2] {
	case "zones":
		o.Zone = linkTo(strings.TrimSuffix(scope, "/"))
	case "regions":
		o.Region = linkTo(strings.TrimSuffix(scope, "/"))
	}
	c.injectOperation(o)
	c.engine.operations[o.path] = o
	c.engine.running = append(c.engine.running, o)
	if id := o.ClientOperationId; id != "" {
		c.engine.requests[c.ID+" "+id] = o
	}
	return clone(&o.Operation), nil
}

// injectOperation makes the operation fail or disappear at a test's request.
func (c *call) injectOperation(o *operation) {
	if c.try.fault == FailOperation {
		o.apply = func() *failure {
			return &failure{status: 500, reason: "INTERNAL SERVER ERROR", code: "INTERNAL_ERROR", message: "Internal error. Please try again or contact Google Support. (injected)"}
		}
	}
	o.forgotten = c.try.fault == ForgetOperation
}

// settle completes the operations that are due, in the order of their start.
func (w *World) settle() {
	now := w.now()
	for _, o := range w.engine.running {
		if !o.due.After(now) {
			o.end(w)
		}
	}
	var left []*operation
	for _, o := range w.engine.running {
		if o.Status != "DONE" {
			left = append(left, o)
		}
	}
	w.engine.running = left
	w.settleMachines()
	w.settleServices()
}

func (o *operation) end(w *World) {
	o.Status, o.Progress, o.EndTime = "DONE", 100, w.stamp()
	var f *failure
	if o.apply != nil {
		f = o.apply()
	}
	if f == nil {
		return
	}
	if o.undo != nil {
		o.undo()
	}
	o.HttpErrorStatusCode, o.HttpErrorMessage = int64(f.status), f.reason
	o.Error = &compute.OperationError{Errors: []*compute.OperationErrorErrors{{Code: f.code, Message: f.message, ErrorDetails: f.details}}}
}

func (c *call) requestID() string { return c.query.Get("requestId") } // empty for operations of Google itself

// uuid matches a requestId. A UUID of zeros is rejected.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// replay returns the operation that was started with the same requestId.
// https://cloud.google.com/compute/docs/api/how-tos/api-requests-responses#request_ids
func (c *call) replay() (*operation, error) {
	id := c.query.Get("requestId")
	if id == "" || c.service.Name != "compute" {
		return nil, nil
	}
	if !uuid.MatchString(id) || strings.Trim(id, "0-") == "" {
		return nil, invalid("Invalid value for field 'requestId': '%s'. Must be a valid UUID.", id)
	}
	o := c.engine.requests[c.ID+" "+id]
	if o != nil && o.forgotten {
		return nil, nil
	}
	return o, nil
}

func operationActs() map[string]act {
	out := make(map[string]act)
	for _, scope := range []string{"zone", "region", "global"} {
		out["compute."+scope+"Operations.get"] = getOperation
		out["compute."+scope+"Operations.wait"] = waitOperation
		out["compute."+scope+"Operations.list"] = listOperations
	}
	return out
}

func (c *call) findOperation() (*operation, error) {
	scope, err := c.scope()
	if err != nil {
		return nil, err
	}
	path := scope + "operations/" + c.params["operation"]
	o := c.engine.operations[path]
	if o == nil || o.forgotten {
		return nil, notFound(path)
	}
	return o, nil
}

func getOperation(c *call) (any, error) {
	o, err := c.findOperation()
	if err != nil {
		return nil, err
	}
	return &o.Operation, nil
}

// longestWait is the maximum duration of a wait call.
// https://cloud.google.com/compute/docs/reference/rest/v1/zoneOperations/wait
const longestWait = 2 * time.Minute

func waitOperation(c *call) (any, error) {
	o, err := c.findOperation()
	if err != nil {
		return nil, err
	}
	if c.deadline.IsZero() {
		c.deadline = c.now().Add(longestWait)
	}
	if until := earlier(o.due, c.deadline); o.Status != "DONE" && c.now().Before(until) {
		return nil, &later{until}
	}
	return &o.Operation, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func listOperations(c *call) (any, error) {
	scope, err := c.scope()
	if err != nil {
		return nil, err
	}
	var items []any
	for _, path := range sortedKeys(c.engine.operations) {
		if o := c.engine.operations[path]; !o.forgotten && strings.HasPrefix(path, scope+"operations/") {
			items = append(items, &o.Operation)
		}
	}
	return c.page("compute#operationList", items)
}
