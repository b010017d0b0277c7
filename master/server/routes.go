package server

import "net/http"

// routes returns all implemented calls. Calls without their collaborator are omitted, so that they are
// answered as not implemented.
func (s *Server) routes() []route {
	var all []route
	for _, part := range []interface{ routes() []route }{
		&accountCalls{s.shared}, &clusterCalls{s.shared}, &admissionCalls{s.shared}, &auditCalls{s.shared}, &machineCalls{s.shared},
		&queueCalls{s.shared}, &taskCalls{s.shared}, &shellCalls{s.shared}, &notebookCalls{s.shared}, &tensorboardCalls{s.shared}, &genericCalls{s.shared}, &entryCalls{s.shared}, &contextCalls{s.shared}, &allocationCalls{s.shared}, &logCalls{s.shared}, &cleanupCalls{s.shared}, &resourceCalls{s.shared},
		&workspaceCalls{s.shared}, &projectCalls{s.shared}, &templateCalls{s.shared}, &modelCalls{s.shared},
		&experimentCalls{s.shared}, &experimentRequestCalls{s.shared}, &bulkCalls{s.shared}, &modelDefinitionCalls{s.shared},
		&trialCalls{s.shared}, &reportCalls{s.shared}, &trialLogCalls{&logCalls{s.shared}}, &metricCalls{s.shared},
		&elsewhereCalls{&logCalls{s.shared}}, &useCalls{s.shared}, &nameCalls{s.shared}, &checkpointCalls{s.shared}, &checkpointFileCalls{s.shared}, &serviceCalls{s.shared},
	} {
		all = append(all, part.routes()...)
	}
	return all
}

func getRoute(path string, who access, e endpoint) route {
	return route{method: http.MethodGet, path: path, access: who, endpoint: e}
}

func postRoute(path string, who access, e endpoint) route {
	return route{method: http.MethodPost, path: path, access: who, endpoint: e}
}

func sizedCall(r route, limit int64) route {
	r.limit = limit
	return r
}
