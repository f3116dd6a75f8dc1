package topology

// Survey is what was found when an engine was looked for, for a person who wants
// to know why one was chosen, or why none.
type Survey struct {
	// Endpoints are where it was looked, in order, up to the one that is used.
	Endpoints []SurveyedEndpoint
	// Err says why the looking itself failed; no endpoint is listed then.
	Err error
	// API is the version that was agreed on, and OldestAPI the oldest that will do.
	API, OldestAPI string
	// RootDir is where the engine keeps its images and volumes, on its own machine; Local says that it is this one.
	RootDir string
	Local   bool
	LogIns  []LogIn
}

// SurveyedEndpoint is one place where an engine may listen.
type SurveyedEndpoint struct {
	Host   string
	Source string // how it was found
	Chosen bool   // a person named it: no other is tried
	Used   bool
	Err    error // why it will not do
}

// LogIn is a registry that the engine's configuration has credentials for.
type LogIn struct {
	Registry string
	Err      error // why they cannot be had
}
