package server

import (
	"context"
	"net/http"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// routes is every call that is built. What its collaborator is missing for is left
// out, and so answered as not built.
func (s *Server) routes() []route {
	all := accountRoutes()
	all = append(all, masterRoutes(s.cfg.MasterLog != nil)...)
	if s.cfg.Admissions != nil {
		all = append(all, admissionRoutes()...)
	}
	if s.cfg.Audit != nil {
		all = append(all, get("audit", admin, stream(auditLog)))
	}
	if s.cfg.Machines != nil {
		all = append(all, machineRoutes()...)
	}
	if s.cfg.Queue != nil {
		all = append(all, queueRoutes()...)
	}
	if s.cfg.Queue != nil && s.cfg.Launches != nil {
		all = append(all, get("resource-pools/{pool}/machines", user, plain((*Server).poolMachines)))
	}
	if s.cfg.Tasks != nil {
		all = append(all, taskRoutes()...)
		all = append(all, allocationRoutes()...)
	}
	if s.cfg.Tasks != nil && s.cfg.Logs != nil {
		all = append(all, logRoutes()...)
	}
	return all
}

func get(path string, who access, e endpoint) route {
	return route{method: http.MethodGet, path: path, access: who, endpoint: e}
}

func post(path string, who access, e endpoint) route {
	return route{method: http.MethodPost, path: path, access: who, endpoint: e}
}

func sized(r route, limit int64) route {
	r.limit = limit
	return r
}

func accountRoutes() []route {
	return []route{
		audited("login", sized(post("auth/login", open, unary((*Server).login)), loginLimit)),
		audited("logout", post("auth/logout", user, plain((*Server).logout))),
		get("me", either, plain((*Server).me)),
		get("auth/user", either, plain((*Server).me)),
		get("users", login, plain((*Server).users)),
		audited("user.create", post("users", admin, unary((*Server).createUser))),
		get("users/{user}", login, plain((*Server).userByID)),
		get("users/{username}/by-username", login, plain((*Server).userByName)),
		get("users/{user}/sessions", login, plain((*Server).sessions)),
		audited("session.end", post("users/{user}/sessions/{session}/end", login, plain((*Server).endSession))),
		audited("user.change", route{method: http.MethodPatch, path: "users/{user}", access: login, endpoint: unary((*Server).patchUser)}),
	}
}

func masterRoutes(logs bool) []route {
	list := []route{
		get("master", open, plain((*Server).master)),
		get("master/telemetry", open, plain((*Server).telemetry)),
		get("master/config", admin, plain((*Server).masterConfig)),
		get("workspaces", user, plain((*Server).workspaces)),
		get("workspaces/{workspace}", user, plain((*Server).workspace)),
	}
	if logs {
		list = append(list, get("master/logs", admin, stream(masterLogs)))
	}
	return list
}

func machineRoutes() []route {
	return []route{
		get("agents", user, plain((*Server).agents)),
		get("agents/{agent}", user, plain((*Server).agent)),
		audited("agent.enable", post("agents/{agent}/enable", admin, plain((*Server).enableAgent))),
		audited("agent.disable", post("agents/{agent}/disable", admin, unary((*Server).disableAgent))),
		get("agents/{agent}/slots", user, plain((*Server).slots)),
		get("agents/{agent}/slots/{slot}", user, plain((*Server).slot)),
		audited("slot.enable", post("agents/{agent}/slots/{slot}/enable", admin, plain((*Server).enableSlot))),
		audited("slot.disable", post("agents/{agent}/slots/{slot}/disable", admin, unary((*Server).disableSlot))),
	}
}

func queueRoutes() []route {
	return []route{
		get("resource-pools", user, plain((*Server).pools)),
		get("job-queues-v2", user, plain((*Server).jobs)),
		get("job-queues/stats", user, plain((*Server).queueStats)),
	}
}

func taskRoutes() []route {
	return []route{
		audited("job.change", post("job-queues", user, unary((*Server).updateQueue))),
		sized(post("commands", user, unary((*Server).launch)), large),
		get("commands", user, plain((*Server).commands)),
		get("commands/{command}", user, plain((*Server).command)),
		audited("task.kill", post("commands/{command}/kill", user, plain((*Server).killCommand))),
		audited("task.priority", post("commands/{command}/set_priority", user, unary((*Server).setCommandPriority))),
		get("tasks", user, plain((*Server).tasks)),
		get("tasks/{task}", user, plain((*Server).task)),
		get("tasks/{task}/context_directory", either, taskContext()),
	}
}

func allocationRoutes() []route {
	return []route{
		post("allocations/{allocation}/ready", allocation, plain((*Server).allocationReady)),
		post("allocations/{allocation}/waiting", allocation, plain((*Server).allocationWaiting)),
		post("allocations/{allocation}/acceleratorData", allocation, unary((*Server).accelerators)),
		get("allocations/{allocation}/resources/{resources}/rendezvous", allocation, plain((*Server).rendezvous)),
		get("allocations/{allocation}/signals/preemption", allocation, plain((*Server).preemption)),
		audited("task.preempt", post("allocations/{allocation}/signals/pending_preemption", user, plain((*Server).preempt))),
		post("allocations/{allocation}/signals/ack_preemption", allocation, plain((*Server).ackPreemption)),
	}
}

func logRoutes() []route {
	return []route{
		sized(post("task/logs", either, unary((*Server).shipLogs)), logsLimit),
		get("tasks/{task}/logs", user, stream(taskLogs)),
		get("tasks/{task}/logs/fields", user, stream(taskLogFields)),
	}
}

// masterLogs answers GET master/logs: offset counts from the start, or from the end
// when negative. With afterId it goes on behind that record instead.
func masterLogs(ctx context.Context, s *Server, c *call, send func(*apiv1.MasterLogsResponse) error) error {
	offset, limit, follow := c.number("offset"), c.number("limit"), c.is("follow")
	if limit < 0 {
		c.wrong("limit", "0 or more")
	}
	if c.text("afterId") != "" {
		// A number that is not given out yet is of a master before this one; all is new.
		if offset = int(c.behind("afterId")); offset > s.cfg.MasterLog.end() {
			offset = 0
		}
	}
	if c.bad != nil {
		return c.bad
	}
	if follow && limit > 0 {
		return status.New(status.InvalidArgument, "follow and limit exclude each other")
	}
	return s.cfg.MasterLog.read(ctx, ringQuery{offset: offset, limit: limit, follow: follow}, func(e *apiv1.LogEntry) error {
		return send(&apiv1.MasterLogsResponse{LogEntry: e})
	})
}
