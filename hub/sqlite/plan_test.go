package sqlite

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// No statement that runs often reads a whole table or sorts what an index has in order.
func TestPlans(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "hub.db"), Options{})
	named := regexp.MustCompile(`:[a-z]+`)
	for name, query := range map[string]string{
		"selectKey": selectKey, "countQueued": countQueued, "selectJob": selectJob, "selectPayload": selectPayload,
		"listQueued": listQueued, "countAhead": countAhead, "listLive": listLive, "liveOfRunner": liveOfRunner,
		"countLive": countLive, "countRunning": countRunning, "countShare": countShare, "listJobs": listJobs,
		"listQueuedOf": listQueuedOf, "shares": shares, "selectGroupHolder": selectGroupHolder, "listGroup": listGroup,
		"updateJob": updateJob, "startAttempt": startAttempt, "endAttempt": endAttempt,
		"selectAttempt": selectAttempt, "selectAttempts": selectAttempts, "attemptByLog": attemptByLog, "listEvents": listEvents,
		"growLog": growLog, "listChunks": listChunks, "listChunksBefore": listChunksBefore, "dropChunk": dropChunk,
		"runnerByID": runnerByID, "runnerByToken": runnerByToken, "listRunners": listRunners, "runnersByLabel": runnersByLabel,
		"upsertPresence": upsertPresence, "userByKey": userByKey, "userByLogin": userByLogin, "workspaceBySlug": workspaceBySlug,
		"memberships": memberships, "updatePairing": updatePairing, "pairingByCode": pairingByCode,
		"pairingByToken": pairingByToken, "deletePairings": deletePairings, "hasUsers": hasUsers,
		"uploadByToken": uploadByToken, "openUpload": openUpload, "growUpload": growUpload, "listParts": listParts, "endUpload": endUpload,
		"oldUploads": oldUploads, "sumUploads": sumUploads, "findBlob": findBlob, "keepBlob": keepBlob, "listArtifacts": listArtifacts,
		"artifactByPath": artifactByPath, "deleteArtifacts": deleteArtifacts,
	} {
		query = named.ReplaceAllString(query, "'1'")
		args := make([]any, strings.Count(query, "?"))
		for i := range args {
			args[i] = 1
		}
		rows, err := s.reader.db.Query("EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			known := name == "shares" && !strings.Contains(step, "jobs") || // one row a workspace, out of one queue
				strings.Contains(step, "SCAN json_each") || strings.Contains(step, "SCAN CONSTANT") ||
				strings.HasPrefix(step, "SCAN (subquery") || name == "hasUsers" || // stops at the first
				strings.Contains(step, "ORDER BY") && (name == "runnersByLabel" || name == "memberships" || name == "liveOfRunner") // a handful of rows
			if (strings.HasPrefix(step, "SCAN") || strings.Contains(step, "TEMP B-TREE")) && !known {
				t.Errorf("%s: %s", name, step)
			}
		}
		if err := rows.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		rows.Close()
	}
}
