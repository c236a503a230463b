--- Answers with a JSON object of several keys.
---@key name string
---@key tags set
---@return bytes json
---@readonly
local members = redis.call('SMEMBERS', tags)
table.sort(members)
return cjson.encode({name = redis.call('GET', name) or cjson.null, count = #members})
