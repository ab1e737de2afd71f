import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Metrics } from '../../apps/server/src/metrics.js';

interface Rules {
  groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
}
interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[];
}

/** Names in a PromQL expression, without what a histogram adds to its own. */
function namesIn(expression: string): string[] {
  const names = expression.match(/\b(?:precedent|nodejs|process)_[a-z0-9_]+/g) ?? [];
  return [...new Set(names.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')))];
}

describe('metrics', () => {
  const metrics = new Metrics({
    lags: () => Promise.resolve([{ name: 'a', position: 1, lag: 0, lag_seconds: 0 }]),
    healthy: () => true,
    serving: () => true,
    engine: () => ({ reconnects: 1, unknownOutcomes: 2 }),
    log: () => ({ state: 'signing', uncoveredSeconds: 0, inconsistent: 0, errors: 0, covered: 1 }),
  });
  let served: Set<string>;
  let text: string;

  beforeAll(async () => {
    text = (await metrics.text()).body;
    served = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? ''));
  });
  afterAll(() => metrics.close());

  it('every name in the alert rules exists, and each rule says what to do', () => {
    const { groups } = parse(readFileSync('docker/alerts.yaml', 'utf8')) as Rules;
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(5);
    for (const { alert, expr, annotations } of rules) {
      const names = namesIn(expr);
      expect([alert, names.length > 0, names.filter((name) => !served.has(name))]).toEqual([
        alert,
        true,
        [],
      ]);
      expect([alert, Object.keys(annotations)]).toEqual([alert, ['summary', 'action']]);
    }
  });

  it('every name on the dashboard exists, and every metric of the product is on it', () => {
    const { panels } = JSON.parse(
      readFileSync('docker/grafana-dashboard.json', 'utf8'),
    ) as Dashboard;
    const used = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => namesIn(expr)));
    expect(used.filter((name) => !served.has(name))).toEqual([]);
    const own = [...served].filter((name) => name.startsWith('precedent_'));
    expect(own.filter((name) => !used.includes(name))).toEqual([]);
    process.stdout.write(`metrics: ${own.length} of the product, all on the dashboard\n`);
  });

  it('docs/operations.md names the product’s metrics, all and no others', () => {
    const documented = new Set(
      [...readFileSync('docs/operations.md', 'utf8').matchAll(/`(precedent_[a-z_]+)`/g)].map(
        ([, name]) => name ?? '',
      ),
    );
    documented.delete('precedent_workspace');
    expect([...documented].sort()).toEqual(
      [...served].filter((n) => n.startsWith('precedent_')).sort(),
    );
  });

  it('counters of the engine keep their value, whatever the number of scrapes', async () => {
    await metrics.text();
    const { body } = await metrics.text();
    expect(body).toContain('precedent_eventstore_events_total{event="unknown_outcomes"} 2');
  });
});
