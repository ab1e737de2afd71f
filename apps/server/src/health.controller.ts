import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Undescribed } from '#http/openapi.js';
import type { LogStatus } from '#ledger/module.js';
import type { Lag } from './lag.js';

export const HEALTH = Symbol('Health');

/** What the process knows of its own fitness. */
export interface Health {
  /** False while the engine takes no writes: cut off, or stopped by an unknown outcome. */
  healthy(): boolean;
  lags(): Promise<Lag[]>;
  /** False until the keys that tokens are checked with were had; true where there are none to have. */
  keysLoaded(): boolean;
  /** How the signing of the log fares. */
  log(): LogStatus;
  /** False once a shutdown has begun. */
  serving: boolean;
}

/** Open to everyone: says nothing of what the ledger holds. */
@Undescribed()
@Controller('health')
export class HealthController {
  constructor(@Inject(HEALTH) private readonly health: Health) {}

  @Get('live')
  live() {
    return { status: 'live' };
  }

  /** The server listens only once the read models have caught up. */
  @Get('startup')
  startup() {
    return { status: 'started' };
  }

  @Get('ready')
  async ready(@Res({ passthrough: true }) reply: FastifyReply) {
    const healthy = this.health.healthy();
    const keys = this.health.keysLoaded();
    const followers = await this.health.lags();
    const isParked = followers.some((f) => f.parked);
    const ready = healthy && keys && this.health.serving && !isParked;
    if (!ready) void reply.status(503);
    const reactions = followers.find((f) => f.name === REACTIONS);
    return {
      status: ready ? 'ready' : 'not_ready',
      ...(this.health.serving ? {} : { shutting_down: true }),
      event_store: healthy ? 'writable' : 'not_writable',
      keys: keys ? 'loaded' : 'not_loaded',
      log: this.health.log().state,
      read_models: followers.filter((f) => f !== reactions),
      reactions,
    };
  }
}

const REACTIONS = 'reactions';
