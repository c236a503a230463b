local redis, server, traced_end = (function(redis, server)
  local calls, places = {}, {}
  local function copy(value)
    if type(value) ~= 'table' then return value end
    local copied = {}
    for key, inner in pairs(value) do copied[key] = copy(inner) end
    return copied
  end
  local function traced(call)
    return function(...)
      local words, _, place = {}, pcall(error, '', LEVEL)
      if place == '' then _, place = pcall(error, '', LEVEL + 1) end
      for i = 1, select('#', ...) do
        local word = select(i, ...)
        words[i] = type(word) == 'number' and string.format('%.17g', word) or tostring(word)
      end
      local ok, reply = pcall(call, ...)
      if type(reply) == 'string' and not ok then reply = string.gsub(reply, '^[^ :]*: ?%d+: ', '', 1) end
      local problem = type(reply) == 'table' and reply.err or not ok and reply or nil
      if problem then places[problem] = place end
      calls[#calls + 1] = {place, words, not problem and copy(reply), problem}
      if not ok then error(reply, 0) end
      return reply
    end
  end
  local function library(of)
    return of and setmetatable({call = traced(of.call), pcall = traced(of.pcall)}, {__index = of})
  end
  return library(redis), library(server), function(ok, result)
    local text = type(result) == 'table' and result.err or not ok and tostring(result)
    if text then text = string.gsub(text, '^:%d+: Script attempted', 'Script attempted') end
    return {calls, ok and text or '', not ok and (places[text] or '') .. text or '', not text and result}
  end
end)(redis, rawget(_G, 'server'))
return traced_end(pcall(function(...)
  SCRIPT()
end))
