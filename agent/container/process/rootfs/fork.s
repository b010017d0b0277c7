// fork.go declares functions of the runtime, which have no body there.
